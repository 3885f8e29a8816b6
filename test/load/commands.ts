/**
 * Commands in a real engine of a real server, from the compiled package:
 * `npm run build && node --conditions=millrace-src test/load/commands.ts [TRIES] [MB]`
 *
 * First one run with MB (100) of output of a command: every line must be in its log, and the memory of the engine may grow by
 * 50 MB. Then a run whose command has a tree of 50 processes is cancelled TRIES (100) times: no process may be left, and each
 * run must have ended within the grace of its command and a second. Exit code 0 if all is so.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Millrace } from "#sdk/client/index";
import { CHILD_GRACE_MS, listProcesses, processesOf } from "#system/run-processes";
import { listening, startCommand } from "../support/command-line.ts";

const LOOK_MS = 20;
const WIDTH = 99;
const MB = 1_048_576;
const GROWTH_MB_MAX = 50;
const STOP_MS_MAX = CHILD_GRACE_MS + 1_000;
const TREE_MIN = 50;
/** Log lines in one page. */
const PAGE = 1_000;

const [tries = 100, megabytes = 100] = process.argv.slice(2).map(Number);
const failures: string[] = [];

function check(holds: boolean, what: string): void {
  process.stdout.write(`${holds ? "ok    " : "FAILED"} ${what}\n`);
  if (!holds) failures.push(what);
}

function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** The engine processes below a server. */
function enginesOf(server: number): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
        return parent === server && line.includes("sdk/engine/main");
      } catch {
        return false;
      }
    });
}

async function flowIds(client: Millrace): Promise<Map<string, number>> {
  const ids = new Map<string, number>();
  while (ids.size === 0) {
    for (const flow of await client.flows.list()) ids.set(flow.name, flow.id);
    await pause(LOOK_MS);
  }
  return ids;
}

async function output(client: Millrace, flow: number, server: number): Promise<void> {
  const small = await client.flows.run(flow, { parameters: { count: 100, width: WIDTH } });
  await client.waitFor(small.id);
  const [engine = 0] = enginesOf(server);
  const before = memoryOf(engine);
  const count = Math.ceil((megabytes * MB) / (WIDTH + 1));
  const from = performance.now();
  const run = await client.flows.run(flow, { parameters: { count, width: WIDTH } });
  let peak = before;
  let ended = false;
  const end = client.waitFor(run.id).then((last) => {
    ended = true;
    return last;
  });
  while (!ended) {
    peak = Math.max(peak, memoryOf(engine));
    await pause(LOOK_MS);
  }
  const last = await end;
  const seconds = (performance.now() - from) / 1000;
  check(
    last.run.state.type === "Completed",
    `the run with ${megabytes} MB of output is Completed, after ${seconds.toFixed(1)} s`,
  );
  let seen = 0;
  let wrong = 0;
  for await (const line of client.runs.logs(run.id, {}, { pageSize: PAGE })) {
    if (!line.message.startsWith(`${seen + 1}.`) || line.message.length !== WIDTH) wrong += 1;
    seen += 1;
  }
  check(seen === count && wrong === 0, `its log has ${seen} of ${count} lines, ${wrong} of them out of place`);
  const growth = peak - before;
  check(growth <= GROWTH_MB_MAX, `the engine grew from ${before.toFixed(0)} MB by ${growth.toFixed(0)} MB`);
}

async function cancels(client: Millrace, flow: number): Promise<void> {
  const times: number[] = [];
  let left = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < tries; round += 1) {
    const run = await client.flows.run(flow, { parameters: {} });
    const mark = run.external_id;
    for (let started = false; !started; ) {
      await pause(LOOK_MS);
      for await (const { message } of client.runs.logs(run.id)) started ||= message === "started";
    }
    smallest = Math.min(smallest, processesOf(mark, await listProcesses()).length);
    const from = performance.now();
    await client.runs.cancel(run.id);
    await client.waitFor(run.id);
    times.push(performance.now() - from);
    left += processesOf(mark, await listProcesses()).length;
  }
  times.sort((a, b) => a - b);
  const longest = times.at(-1) ?? 0;
  const median = times[Math.floor(times.length / 2)] ?? 0;
  check(smallest >= TREE_MIN, `each of ${tries} trees had at least ${smallest} processes`);
  check(left === 0, `${left} processes were left after ${tries} cancels`);
  const figures = `median ${median.toFixed(0)} ms, longest ${longest.toFixed(0)} ms of ${STOP_MS_MAX}`;
  check(longest <= STOP_MS_MAX, `a cancelled run had ended within the grace and a second: ${figures}`);
}

const folder = mkdtempSync(join(tmpdir(), "millrace-commands-"));
const [flows, home] = [join(folder, "flows"), join(folder, "home")];
mkdirSync(flows);
cpSync(join(import.meta.dirname, "../integration/engine-flows/commands.ts"), join(flows, "commands.ts"));
const server = startCommand(["serve", flows, "--home", home, "--port", "0", "--no-open", "--max-engines", "1"]);
try {
  const client = new Millrace({ url: await listening(server, home) });
  const ids = await flowIds(client);
  await output(client, ids.get("lines") ?? 0, server.child.pid ?? 0);
  await cancels(client, ids.get("tree") ?? 0);
} finally {
  server.child.kill("SIGTERM");
  await server.ended;
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures.length === 0 ? 0 : 1;
