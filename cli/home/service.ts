/** `millrace service install`: a systemd unit among the user's own services, or among those of the system. */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, EXIT } from "../exit-code.ts";
import { ownHome } from "../own-home.ts";
import { Terminal } from "../terminal/terminal.ts";
import { serviceUnit } from "./service-unit.ts";

export interface ServiceOptions {
  home?: string;
  url?: string;
  name: string;
  port?: string;
  drain?: string;
  system?: boolean;
  user?: string;
  dryRun?: boolean;
  overwrite?: boolean;
}

/** Valid unit names of systemd, except those that need escapes. */
const UNIT_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
/** Folder of the units that an administrator of the machine adds. */
const SYSTEM_UNITS = "/etc/systemd/system";
/** Folder of the homes that systemd creates (StateDirectory=). */
const STATE_FOLDER = "/var/lib";

export async function installService(dir: string, options: ServiceOptions): Promise<number> {
  const servedDir = resolve(dir);
  if (!statSync(servedDir, { throwIfNoEntry: false })?.isDirectory()) throw new CommandError(`${servedDir} is not a directory`);
  if (!UNIT_NAME.test(options.name))
    throw new CommandError(`--name must be letters, digits, "_", "." and "-", not "${options.name}"`);
  const user = unitUser(options);
  const ownState = user !== null && options.home === undefined;
  const home = ownState ? join(STATE_FOLDER, options.name) : ownHome(options);
  const { foreignFolder } = await import("#server/operations/home-files");
  const foreign = existsSync(home) && readable(home) ? foreignFolder(home) : null;
  if (foreign !== null) throw new CommandError(foreign);
  const { loadConfig } = await import("#server/config/config");
  // The token may be in service.env, which only the service reads.
  const flags = { home, port: options.port, drain: options.drain, allowAnonymous: true };
  const { drainSecs } = loadConfig(flags, process.env, servedDir).config;
  const command = ownCommand();
  const unit = serviceUnit({
    servedDir,
    home,
    port: options.port,
    command,
    drainSecs,
    drainFlag: options.drain !== undefined,
    user,
    stateDirectory: ownState ? options.name : null,
  });
  const path = user === null ? userUnitPath(options.name) : join(SYSTEM_UNITS, `${options.name}.service`);
  const out = new Terminal(process.stdout);
  out.line(`# ${path}`);
  out.write(unit);
  if (options.dryRun === true) return EXIT.ok;
  if (user !== null) checkReach(user, [...command.filter((entry) => entry.startsWith("/")), servedDir]);
  writeUnit(path, unit, options.overwrite === true);
  out.line();
  if (user === null) {
    out.line("Written. To start it now and with every login:");
    out.line(`  systemctl --user daemon-reload && systemctl --user enable --now ${options.name}`);
    out.line("To have it run without a login as well:");
    out.line("  loginctl enable-linger");
  } else {
    out.line("Written. To start it now and with the machine:");
    out.line(`  systemctl daemon-reload && systemctl enable --now ${options.name}`);
  }
  return EXIT.ok;
}

/** The user of a system unit, null for a unit of the user's own services. */
function unitUser({ system, user }: ServiceOptions): string | null {
  if (system !== true) {
    if (user !== undefined) throw new CommandError("--user belongs to a unit of the system", "Add --system.");
    return null;
  }
  const name = user ?? "millrace";
  if (spawnSync("id", ["-u", "--", name]).status !== 0) {
    const advice = "Create it (`useradd --system --create-home millrace`), or choose another with --user.";
    throw new CommandError(`this machine has no user "${name}"`, advice);
  }
  return name;
}

function userUnitPath(name: string): string {
  return join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "systemd", "user", `${name}.service`);
}

/** Otherwise systemd tries again for ever what the user may not read: a Node or a folder below another user's /home. */
function checkReach(user: string, paths: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  for (const path of paths) {
    if (spawnSync("runuser", ["-u", user, "--", "test", "-r", path]).status === 1)
      throw new CommandError(
        `user "${user}" cannot read ${path}`,
        "Move it to a place that this user can read, or choose another with --user.",
      );
  }
}

function writeUnit(path: string, unit: string, overwrite: boolean): void {
  if (existsSync(path) && readFileSync(path, "utf8") !== unit && !overwrite) {
    throw new CommandError(`${path} exists and says something else`, "Choose another --name, or pass --overwrite.");
  }
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, unit);
  } catch (error) {
    throw new CommandError(
      `cannot write ${path}: ${error instanceof Error ? error.message : error}`,
      "A unit of the system is installed by root: use sudo.",
    );
  }
}

function readable(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Program and arguments that start this installation again. */
function ownCommand(): string[] {
  return [
    process.execPath,
    ...process.execArgv,
    fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url)),
  ];
}
