/** `millrace service install`: a systemd unit among the user's own services. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, EXIT } from "../exit-code.ts";
import { ownHome } from "../own-home.ts";
import { Terminal } from "../terminal/terminal.ts";

export interface ServiceOptions {
  home?: string;
  url?: string;
  name: string;
  port?: string;
  dryRun?: boolean;
  overwrite?: boolean;
}

/** Environment file of the service in the home, which keeps a token out of the unit and the process list. */
const ENVIRONMENT_FILE = "service.env";
/** Valid unit names of systemd, except those that need escapes. */
const UNIT_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

export async function installService(dir: string, options: ServiceOptions): Promise<number> {
  const servedDir = resolve(dir);
  if (!statSync(servedDir, { throwIfNoEntry: false })?.isDirectory()) throw new CommandError(`${servedDir} is not a directory`);
  if (!UNIT_NAME.test(options.name))
    throw new CommandError(`--name must be letters, digits, "_", "." and "-", not "${options.name}"`);
  const home = ownHome(options);
  const { foreignFolder } = await import("#server/operations/home-files");
  const foreign = existsSync(home) ? foreignFolder(home) : null;
  if (foreign !== null) throw new CommandError(foreign);
  const path = join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "systemd", "user", `${options.name}.service`);
  const unit = serviceUnit({ servedDir, home, port: options.port, command: ownCommand() });
  const out = new Terminal(process.stdout);
  out.line(`# ${path}`);
  out.write(unit);
  if (options.dryRun === true) return EXIT.ok;
  if (existsSync(path) && readFileSync(path, "utf8") !== unit && options.overwrite !== true) {
    throw new CommandError(`${path} exists and says something else`, "Choose another --name, or pass --overwrite.");
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, unit);
  out.line();
  out.line("Written. To start it now and with every login:");
  out.line(`  systemctl --user daemon-reload && systemctl --user enable --now ${options.name}`);
  out.line("To have it run without a login as well:");
  out.line("  loginctl enable-linger");
  return EXIT.ok;
}

/** Program and arguments that start this installation again. */
function ownCommand(): string[] {
  return [
    process.execPath,
    ...process.execArgv,
    fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url)),
  ];
}

interface UnitFacts {
  servedDir: string;
  home: string;
  port: string | undefined;
  command: readonly string[];
}

/**
 * The text of the unit. Only the server itself is stopped (KillMode=process): busy engines continue and report to the next
 * server. Exit code 3 is wrong usage or a locked home, which a restart cannot fix.
 */
export function serviceUnit({ servedDir, home, port, command }: UnitFacts): string {
  const args = ["serve", servedDir, "--home", home, "--no-open", ...(port === undefined ? [] : ["--port", port])];
  return [
    "[Unit]",
    `Description=Millrace, serving ${specifier(servedDir)}`,
    "",
    "[Service]",
    `ExecStart=${[...command, ...args].map(word).join(" ")}`,
    `WorkingDirectory=${specifier(servedDir)}`,
    `EnvironmentFile=-${specifier(join(home, ENVIRONMENT_FILE))}`,
    "Restart=on-failure",
    "RestartSec=2",
    "RestartPreventExitStatus=3",
    "KillMode=process",
    "TimeoutStopSec=30",
    "UMask=0077",
    "",
    "[Install]",
    "WantedBy=default.target",
    "",
  ].join("\n");
}

/** One word of a command line in the syntax of systemd.service(5). */
function word(text: string): string {
  const escaped = specifier(text).replaceAll("$", "$$$$");
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** A per cent sign begins a specifier in systemd.unit(5). */
function specifier(text: string): string {
  return text.replaceAll("%", "%%");
}
