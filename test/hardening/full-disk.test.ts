/** A full disk (the process may write no file): reads continue, writes are refused, no acknowledged data is lost. */
import { execFileSync, spawnSync } from "node:child_process";
import t, { type Test } from "tap";
import { ROUTES } from "#protocol/routes/routes";
import { millrace } from "../support/command-line.ts";
import { type HardenedServer, seedRecords, startHardenedServer } from "./hardened-server.ts";
import { type Known, sampleRequest } from "./large-requests.ts";

/** The promise is one second; the margin is for other load on the machine. */
const ANSWERED_MS_MAX = 2_500;
const CLIENTS = 4;
const RUN = { flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere" };

interface Outcome {
  /** Null: the connection was cut. */
  status: number | null;
  text: string;
  ms: number;
}

/** Reads the whole answer, except for streams, which do not end. */
async function send(url: string, method: string, path: string, body?: unknown): Promise<Outcome> {
  const begin = performance.now();
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const signal = AbortSignal.timeout(30_000);
  const text = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  try {
    const answer = await fetch(`${url}${path}`, { method, headers, signal, ...text });
    const streams = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (streams) await answer.body?.cancel();
    return { status: answer.status, text: streams ? "" : await answer.text(), ms: performance.now() - begin };
  } catch {
    return { status: null, text: "", ms: performance.now() - begin };
  }
}

function limitFiles({ pid }: HardenedServer, bytes: "0" | "unlimited"): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);
}

/** Creates runs while `goesOn`; collects acknowledged runs and the durations of the other requests. */
async function create(url: string, acknowledged: number[], refused: Outcome[], goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    const outcome = await send(url, "POST", "/api/runs", RUN);
    if (outcome.status === 201) acknowledged.push((JSON.parse(outcome.text) as { id: number }).id);
    else refused.push(outcome);
  }
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}

async function checkReads(t: Test, url: string, known: Known): Promise<void> {
  for (const route of ROUTES) {
    if (route.method !== "GET") continue;
    const { path } = sampleRequest(route, known);
    const { status, ms } = await send(url, "GET", path);
    // Only this read says that the server takes no work.
    const answered = route.operation === "getReady" ? status === 503 : status !== null && status < 500;
    t.ok(answered && ms < ANSWERED_MS_MAX, `GET ${path}: ${status} after ${Math.round(ms)} ms`);
  }
}

async function checkWrites(t: Test, url: string, known: Known): Promise<void> {
  const refused = new Set<number | null>();
  for (const route of ROUTES) {
    if (route.method === "GET" || route.path === "/mcp") continue;
    const { path, body } = sampleRequest(route, known);
    const { status, ms } = await send(url, route.method, path, body);
    t.ok(ms < ANSWERED_MS_MAX, `${route.method} ${path}: ${status} after ${Math.round(ms)} ms`);
    if (status === null) t.match(path, /\/transition$|\/state$/, "transitions alone are cut");
    refused.add(status);
  }
  t.ok(refused.has(503) || refused.has(507), `refused with ${[...refused].join(", ")}`);
  t.ok(refused.has(null), "a transition was cut");
}

const skip = spawnSync("prlimit", ["--version"]).status === 0 ? false : "prlimit is not here";

t.test("while the disk takes nothing, every read is answered and every write refused at once", { skip }, async (t) => {
  const server = await startHardenedServer();
  t.teardown(() => server.stop());
  const { url, home } = server;
  const known = await seedRecords(url);
  const acknowledged: number[] = [];
  const refused: Outcome[] = [];
  const clients = Array.from({ length: CLIENTS }, () => create(url, acknowledged, refused, () => refused.length < CLIENTS * 3));
  await until(() => acknowledged.length > 20);
  limitFiles(server, "0");
  await Promise.all(clients);
  for (const { status, ms } of refused) {
    t.ok((status === 503 || status === 507) && ms < ANSWERED_MS_MAX, `a create: ${status} after ${Math.round(ms)} ms`);
  }
  await checkReads(t, url, known);
  await checkWrites(t, url, known);
  t.same(JSON.parse((await send(url, "GET", "/api/health")).text), { ok: true });
  const { store_problem: problem } = JSON.parse((await send(url, "GET", "/api/server")).text) as {
    store_problem: { message: string; since: number } | null;
  };
  t.match(problem, { message: String, since: Number });
  const status = await millrace("status", "--home", home);
  t.match(status, { code: 0, out: /Store +takes no writes since/ });
  limitFiles(server, "unlimited");
  await until(async () => (await send(url, "POST", "/api/runs", RUN)).status === 201);
  t.match(JSON.parse((await send(url, "GET", "/api/server")).text), { store_problem: null });
  for (const id of acknowledged) t.equal((await send(url, "GET", `/api/runs/${id}`)).status, 200, `run ${id} is there`);
  t.equal(server.ended(), null);
});

t.test("a server whose output goes to a file on the full disk goes on and writes to it again later", { skip }, async (t) => {
  const server = await startHardenedServer();
  t.teardown(() => server.stop());
  const { url } = server;
  const created = async () => (await send(url, "POST", "/api/runs", RUN)).status;
  const untilEndOr = (condition: () => Promise<boolean> | boolean) => until(() => server.ended() !== null || condition());
  t.equal(await created(), 201);
  limitFiles(server, "0");
  t.match(await created(), /^50[37]$/, "refused, which the server prints");
  // The server prints that first, then restarts the dispatcher, which then answers.
  await untilEndOr(async () => (await send(url, "GET", "/api/queue")).status === 200);
  t.equal(server.ended(), null);
  limitFiles(server, "unlimited");
  await untilEndOr(async () => (await created()) === 201);
  await untilEndOr(() => server.output().includes("the store takes writes again"));
  t.equal(server.ended(), null);
  t.notMatch(server.output(), /the store refused a batch/, "the line about the refusal met the full disk");
});
