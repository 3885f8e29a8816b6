/**
 * Measures short commands of the compiled package from start to end, and its server to the first answer:
 * `npm run build && node --conditions=millrace-src test/load/cold-start.ts [ROUNDS]`
 *
 * Every round runs each command once, beside `node -e 0`, so that all run under the same conditions. On a busy machine CPU
 * time is more meaningful than wall time.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readMachine } from "./machine.ts";
import { startOwnServer } from "./own-server.ts";
import { readUsage } from "./process-usage.ts";
import { startServer } from "./server-process.ts";

const ROUNDS_DEFAULT = 30;
const COMMAND = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** Clock ticks of the process table, see proc(5). */
const TICK_MS = 10;

interface Timing {
  name: string;
  args: readonly string[];
  clockMs: number[];
  processorMs: number;
}

/** User and system time of all ended children. */
function childrenMs(): number {
  const fields = readFileSync("/proc/self/stat", "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

function run({ args, clockMs }: Timing): number {
  const before = childrenMs();
  const startedMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  clockMs.push(performance.now() - startedMs);
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return childrenMs() - before;
}

/** One start of a server on a new store, without flows. */
async function startOnce(timing: Timing, scratch: string): Promise<void> {
  const served = join(scratch, "flows");
  const home = join(scratch, "home");
  for (const path of [scratch, served, home]) mkdirSync(path, { mode: 0o700 });
  const server = await startServer({
    program: process.execPath,
    args: [COMMAND, "serve", served, "--home", home, "--port", "0", "--no-open", "--no-engines"],
    cwd: scratch,
    home,
    token: null,
    settingsPrefix: "MILLRACE_",
  });
  timing.clockMs.push(server.startMs);
  timing.processorMs += (readUsage(server.pid)?.cpuUs ?? 0) / 1000;
  await server.stop();
}

async function measure(rounds: number): Promise<void> {
  if (!existsSync(COMMAND)) throw new Error(`${COMMAND} is missing: npm run build`);
  const target = await startOwnServer({ home: null, durability: "normal", token: null });
  const home = mkdtempSync(join(tmpdir(), "millrace-cold-start-"));
  try {
    const { host, port } = target.endpoint;
    const record = {
      auth: false,
      host,
      pid: target.pid,
      port,
      socket: null,
      started_at: Date.now() * 1000,
      url: `http://${host}:${port}`,
    };
    writeFileSync(join(home, "server.json"), JSON.stringify(record), { mode: 0o600 });
    const millrace = (...args: string[]) => [COMMAND, ...args];
    const timings = Object.entries({
      "node -e 0": ["-e", "0"],
      "millrace --version": millrace("--version"),
      "millrace runs ls": millrace("runs", "ls", "--home", home),
      "millrace status": millrace("status", "--home", home),
    }).map(([name, args]): Timing => ({ name, args, clockMs: [], processorMs: 0 }));
    for (const timing of timings) run(timing);
    for (const timing of timings) timing.clockMs.length = 0;
    for (let round = 0; round < rounds; round += 1) for (const timing of timings) timing.processorMs += run(timing);
    const serve: Timing = { name: "millrace serve, to its first answer", args: [], clockMs: [], processorMs: 0 };
    for (let round = 0; round < rounds; round += 1) await startOnce(serve, join(home, `${round}`));
    report([...timings, serve], rounds);
  } finally {
    await target.stop();
    rmSync(home, { recursive: true });
  }
}

function report(timings: readonly Timing[], rounds: number): void {
  const { processor, cores, node, load_before } = readMachine();
  process.stdout.write(`${processor}, ${cores} cores, Node ${node}, load ${load_before.toFixed(1)}, ${rounds} rounds\n`);
  const plain = timings[0]?.processorMs ?? 0;
  for (const { name, clockMs, processorMs } of timings) {
    const sorted = clockMs.toSorted((a, b) => a - b);
    const [least = 0, median = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)]];
    const ratio = (processorMs / plain).toFixed(2);
    process.stdout.write(
      `${name}: processors ${(processorMs / rounds).toFixed(0)} ms (${ratio} of node -e 0), ` +
        `clock least ${least.toFixed(0)} ms, median ${median.toFixed(0)} ms\n`,
    );
  }
}

await measure(Number(process.argv[2] ?? ROUNDS_DEFAULT));
