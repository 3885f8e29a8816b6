/** What the start of an engine costs: processor time of the whole process until it asks a server for work. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { compiledEngine } from "../compiled-package.ts";
import { type Figure, figure } from "../figure.ts";
import { LoadFailed } from "../load-failed.ts";
import { MIB, readUsage } from "../process-usage.ts";

const HOST = "127.0.0.1";
const START_LIMIT_MS = 60_000;
const US_PER_MS = 1_000;
/** How an engine asks for work: with exchanges, or with polls in versions before them. */
const WORK_PATHS: readonly (string | undefined)[] = ["/api/engine/exchange", "/api/engine/work"];

/**
 * Starts one engine of a compiled checkout for a module, and ends it once it has asked for work.
 * @param served folder of the module
 */
export async function measureEngineStart(tree: string, served: string, module: string): Promise<Figure[]> {
  const program = compiledEngine(tree);
  const asked = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    // The request for work stays without an answer; the engine ends first.
    if (WORK_PATHS.includes(request.url)) asked.resolve();
    else response.end("{}");
  });
  server.listen(0, HOST);
  await once(server, "listening");
  const begunMs = performance.now();
  const args = ["--engine-id", "load-start", "--source-dir", served, "--module", module, "--server", urlOf(server)];
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("MILLRACE_"));
  const engine = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...Object.fromEntries(environment), MILLRACE_HOME: join(served, "home") },
  });
  try {
    await Promise.race([asked.promise, ended(engine), tooLate()]);
    const usage = readUsage(engine.pid ?? 0);
    return [
      ...figure("CPU until the engine asks for work", "ms", usage === null ? null : usage.cpuUs / US_PER_MS),
      ...figure("time until then", "ms", performance.now() - begunMs),
      ...figure("memory then", "MiB", usage === null ? null : usage.residentBytes / MIB),
    ];
  } finally {
    if (engine.exitCode === null && engine.signalCode === null && engine.kill("SIGKILL")) await once(engine, "exit");
    server.closeAllConnections();
    server.close();
  }
}

function urlOf(server: Server): string {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new LoadFailed("there is no free port");
  return `http://${HOST}:${address.port}`;
}

async function ended(engine: ChildProcess): Promise<never> {
  const [code, signal] = await once(engine, "exit");
  throw new LoadFailed(`the engine ended with ${signal ?? `code ${code}`} before it asked for work`);
}

function tooLate(): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new LoadFailed("the engine did not ask for work in time")), START_LIMIT_MS).unref();
  });
}
