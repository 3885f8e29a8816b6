/**
 * `npm run check:package`: packs the package, installs it in an empty folder as users do, checks its types, links and size,
 * and lets its server run a flow file from that folder. Exit code 0 on success. MILLRACE_TEST_INSTALLED names a folder for a second
 * installation, which further checks of the package use.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkEntries, checkTypes } from "./check-types.ts";
import { install, linkInstallation, pack } from "./packed-package.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** A start takes a second; far longer on a machine under load. */
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 20_000;
/** Tolerance for the installed size that the README states, in MB. */
const SIZE_TOLERANCE_MB = 2;

/** In TypeScript with types, so that type stripping and the package's declarations are tested too. */
const FLOW_FILE = `import { flow, log, task, Type } from "millrace";

const double = task("double", async (value: number) => value * 2);

export const doubling = flow("doubling", { parameters: Type.Object({ value: Type.Integer() }) }, async ({ value }) => {
  log.info("doubling a value");
  return await double(value);
});
`;

/** Compares the size stated in the README with the installed size on this machine. */
function checkSize(folder: string): void {
  const bytes = sizeOf(join(folder, "node_modules"));
  const said = /it installs (\d+) MB/.exec(readFileSync(join(ROOT, "README.md"), "utf8"))?.[1];
  const installed = Math.round(bytes / 1e6);
  process.stdout.write(`Installed: ${installed} MB.\n`);
  if (said === undefined || Math.abs(Number(said) - installed) > SIZE_TOLERANCE_MB) {
    throw new Error(`the package installs ${installed} MB, and the README says ${said}`);
  }
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** Resolves once the file exists; rejects when the process has ended or the limit has passed. */
async function appears(path: string, folder: string, server: ChildProcess): Promise<void> {
  const found = Promise.withResolvers<void>();
  const look = (): void => {
    if (existsSync(path)) found.resolve();
  };
  const watcher = watch(folder, look);
  const timer = setTimeout(() => found.reject(new Error(`the server did not start within ${START_LIMIT_MS} ms`)), START_LIMIT_MS);
  server.once("exit", (code) => found.reject(new Error(`the server ended with ${code}`)));
  look();
  try {
    await found.promise;
  } finally {
    watcher.close();
    clearTimeout(timer);
  }
}

async function serveAndRun(folder: string): Promise<void> {
  const home = join(folder, "home");
  mkdirSync(home);
  const args = ["millrace", "serve", "flows", "--home", home, "--port", "0", "--no-open"];
  const server = spawn("npx", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"], detached: true });
  const exited = once(server, "exit");
  let serverPid: number | null = null;
  try {
    await appears(join(home, "server.json"), home, server);
    const { pid, url } = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { pid: number; url: string };
    serverPid = pid;
    execFileSync("npx", ["millrace", "run", "doubling", "--param", "value=21", "--home", home], {
      cwd: folder,
      stdio: "inherit",
    });
    await checkResult(url);
    await checkDashboard(url);
  } finally {
    await end(server, exited, serverPid);
  }
}

async function checkResult(url: string): Promise<void> {
  const response = await fetch(`${url}/api/runs`);
  const page = (await response.json()) as { items: { state: { type: string; details?: { result?: unknown } } }[] };
  const state = page.items[0]?.state;
  if (state?.type !== "Completed" || state.details?.result !== 42) throw new Error(`the run ended as ${JSON.stringify(state)}`);
}

/** The package contains the dashboard: its document, and the script that the document names. */
async function checkDashboard(url: string): Promise<void> {
  const page = await (await fetch(`${url}/runs`)).text();
  const script = /src="(\/assets\/[\w-]+\.js)"/.exec(page)?.[1];
  if (script === undefined || !(await fetch(url + script)).ok) throw new Error("the package shows no dashboard");
}

/** Stops the server with a signal to its process, as its start screen describes. After the limit, kills its process group. */
async function end(npx: ChildProcess, exited: Promise<unknown[]>, pid: number | null): Promise<void> {
  const group = npx.pid;
  if (group === undefined || npx.exitCode !== null) return;
  if (pid !== null) process.kill(pid, "SIGTERM");
  const timer = setTimeout(() => process.kill(-group, "SIGKILL"), pid === null ? 0 : STOP_LIMIT_MS);
  const [code, signal] = await exited;
  clearTimeout(timer);
  if (pid !== null && code !== 0) throw new Error(`the server stopped with ${String(code ?? signal)}`);
}

const folder = mkdtempSync(join(tmpdir(), "millrace-package-"));
try {
  const packed = pack(folder);
  const user = join(folder, "user");
  mkdirSync(user);
  checkEntries(ROOT, packed);
  install(user, packed);
  mkdirSync(join(user, "flows"));
  writeFileSync(join(user, "flows/doubling.ts"), FLOW_FILE);
  checkSize(user);
  checkTypes(ROOT, user);
  await serveAndRun(user);
  const { MILLRACE_TEST_INSTALLED: kept } = process.env;
  if (kept !== undefined) linkInstallation(user, kept);
  process.stdout.write("The packed package was installed in an empty folder and ran a flow file of its own.\n");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
