/**
 * Measures what an engine of the compiled package costs until it asks for work for the first time:
 * `npm run build && node --conditions=millrace-src test/load/engine-start.ts [ROUNDS] [CHECKOUT]`
 *
 * The engine imports a flow in TypeScript. A first start is shown by itself; all others find the flow's file without its types.
 * Beside them: a Node process with a worker thread that does nothing. The server is a stand-in within this process.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readMachine } from "./machine.ts";

const ROUNDS_DEFAULT = 20;
const FLOW = `import { flow } from "millrace";
export const empty = flow("empty", async (n: number): Promise<number> => n);
`;
const NS_PER_MS = 1e6;
const PLAIN = `const { Worker } = require("node:worker_threads");
const u = () => process.cpuUsage();
new Worker('require("node:worker_threads").parentPort.postMessage(1); setInterval(() => 0, 1000)', { eval: true })
  .on("message", () => { process.stdout.write(String((u().user + u().system) / 1000)); process.exit(); });`;

interface Start {
  /** CPU of the whole process, of its main thread, and of the busiest other thread, in ms. */
  cpuMs: number;
  controlMs: number;
  userMs: number;
  clockMs: number;
}

function threadsOf(pid: number): { control: number; others: number[] } {
  const used = (tid: string) => Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, "latin1").split(" ")[0]) / NS_PER_MS;
  const tids = readdirSync(`/proc/${pid}/task`);
  return { control: used(String(pid)), others: tids.filter((tid) => Number(tid) !== pid).map(used) };
}

/** Starts an engine and measures it when its first exchange arrives. */
async function startEngine(program: string, served: string, home: string): Promise<Start> {
  const arrived = Promise.withResolvers<Start>();
  let child: ChildProcess | null = null;
  const begunMs = performance.now();
  const server: Server = createServer((request) => {
    if (request.url !== "/api/engine/exchange" || child?.pid === undefined) return;
    const { control, others } = threadsOf(child.pid);
    const cpuMs = others.reduce((sum, each) => sum + each, control);
    arrived.resolve({ cpuMs, controlMs: control, userMs: Math.max(...others), clockMs: performance.now() - begunMs });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const args = [program, "--source-dir", served, "--module", "flow.ts", "--server", url, "--engine-id", "measured"];
  child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, MILLRACE_HOME: home } });
  const exited = once(child, "exit");
  void exited.then(() => arrived.reject(new Error("the engine ended before it asked for work")));
  try {
    return await arrived.promise;
  } finally {
    child.kill("SIGKILL");
    server.close();
    server.closeAllConnections();
    await exited;
  }
}

async function plainMs(): Promise<number> {
  const child = spawn(process.execPath, ["-e", PLAIN], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (part: Buffer) => {
    text += part.toString();
  });
  await once(child, "close");
  return Number(text);
}

function line(name: string, values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return `${name}: median ${(sorted[Math.floor(sorted.length / 2)] ?? 0).toFixed(0)} ms, least ${(sorted[0] ?? 0).toFixed(0)} ms\n`;
}

async function measure(rounds: number, checkout: string): Promise<void> {
  const program = join(checkout, "dist/sdk/engine/main.js");
  const scratch = mkdtempSync(join(tmpdir(), "millrace-engine-start-"));
  try {
    writeFileSync(join(scratch, "flow.ts"), FLOW);
    const first = await startEngine(program, scratch, scratch);
    const starts: Start[] = [];
    const plain: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      starts.push(await startEngine(program, scratch, scratch));
      plain.push(await plainMs());
    }
    const { processor, cores, node, load_before } = readMachine();
    process.stdout.write(`${processor}, ${cores} cores, Node ${node}, load ${load_before.toFixed(1)}, ${rounds} rounds\n`);
    process.stdout.write(line("CPU of Node with an empty worker thread", plain));
    process.stdout.write(line("CPU of the first start", [first.cpuMs]));
    process.stdout.write(
      line(
        "CPU of an engine until it asks for work",
        starts.map(({ cpuMs }) => cpuMs),
      ),
    );
    process.stdout.write(
      line(
        "  control thread",
        starts.map(({ controlMs }) => controlMs),
      ),
    );
    process.stdout.write(
      line(
        "  user thread",
        starts.map(({ userMs }) => userMs),
      ),
    );
    process.stdout.write(
      line(
        "Clock until it asks for work",
        starts.map(({ clockMs }) => clockMs),
      ),
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

await measure(Number(process.argv[2] ?? ROUNDS_DEFAULT), resolve(process.argv[3] ?? join(import.meta.dirname, "../..")));
