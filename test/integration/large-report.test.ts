/** Reports that are parsed in a reader thread and committed in slices, over HTTP. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { PARSE_ON_CORE_BYTES_MAX, REPORT_SLICE_ROWS_MAX } from "#protocol/limits";
import { openReadHandle } from "#storage/read/read-handle";
import { serve } from "../support/command-line.ts";
import { ServedHome } from "../support/served-home.ts";

const MIB = 1024 ** 2;
/** The text twice while it arrives, the thread that checks it, and garbage of the slices' commits. */
const REPORT_MEMORY_MAX = 400 * MIB;
const MODULE = { module: "large.py", source_dir: "/large" };

async function ask(url: string, path: string, body?: unknown) {
  const init =
    body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await fetch(url + path, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A server with one started run. */
async function setup(t: Test) {
  const root = t.testdir({ served: {} });
  const home = join(root, "home");
  const { url } = await serve(t, join(root, "served"), home);
  const run_id = Number((await ask(url, "/api/runs", { project: "large", flow: "job", ...MODULE })).body["id"]);
  const engine_id = "large-1";
  await ask(url, "/api/engine/work", { engine_id, pid: process.pid, ...MODULE, wait_ms: 0 });
  for (const type of ["Pending", "Running"]) await ask(url, `/api/runs/${run_id}/transition`, { type });
  const report = (events: unknown[]) => ask(url, "/api/engine/report", { engine_id, run_id, events });
  return { home, url, run_id, report };
}

/** Number of "step" events in the store, and of their different payloads. */
function storedSteps(home: string): unknown {
  const database = openReadHandle(join(home, "db.sqlite"));
  try {
    return database
      .prepare(
        "SELECT count(*) AS count, count(DISTINCT payload) AS marks FROM events WHERE name = (SELECT id FROM names WHERE name = 'step')",
      )
      .get();
  } finally {
    database.close();
  }
}

t.test("a large report is stored whole and once", async (t) => {
  const { home, report } = await setup(t);
  const count = 2 * REPORT_SLICE_ROWS_MAX + 7;
  const text = "x".repeat(100);
  const events = Array.from({ length: count }, (_, index) => ({
    kind: "custom",
    seq: index + 1,
    name: "step",
    payload: { index, text },
  }));
  t.ok(JSON.stringify(events).length > PARSE_ON_CORE_BYTES_MAX);
  t.same(await report(events), { status: 200, body: { applied: count, skipped: 0, last_seq: count, cancel: false } });
  t.same(await report(events), { status: 200, body: { applied: 0, skipped: count, last_seq: count, cancel: false } });
  t.same(storedSteps(home), { count, marks: count });
});

t.test("a report of 60 MB takes little more memory than its text", { timeout: 120_000 }, async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const server = await home.serve();
  const run = await server.call("POST", "/api/runs", { project: "large", flow: "job", ...MODULE });
  const run_id = Number(run.body["id"]);
  const line = { run_id, level: 20, logger: "l", timestamp: 1, message: "x".repeat(1_000) };
  const events = Array.from({ length: 120 }, (_, index) => ({ kind: "logs", seq: index + 1, logs: Array(480).fill(line) }));
  const text = JSON.stringify({ engine_id: "e", run_id, events });
  t.ok(text.length > 58 * MIB && text.length < 64 * MIB, `${text.length} bytes`);
  const before = server.residentBytes();
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, server.residentBytes());
  }, 5);
  const answer = await fetch(`${server.url}/api/engine/report`, {
    method: "POST",
    body: text,
    headers: { "content-type": "application/json" },
  });
  clearInterval(watch);
  t.match(await answer.json(), { applied: 120, skipped: 0 });
  t.ok(peak - before < REPORT_MEMORY_MAX, `${Math.round((peak - before) / MIB)} MiB more`);
});

t.test("one malformed event refuses all of a large report", async (t) => {
  const { url, run_id, report } = await setup(t);
  const line = { run_id, level: 20, logger: "l", timestamp: 1, message: "x".repeat(200) };
  const events: unknown[] = Array.from({ length: 2000 }, (_, index) => ({ kind: "logs", seq: index + 1, logs: [line] }));
  const refused = await report([...events, { kind: "logs", seq: 2001, logs: [{ ...line, level: "high" }] }]);
  t.equal(refused.status, 422);
  t.match(refused.body["error"], /events\[2000\]/);
  t.match((await ask(url, `/api/runs/${run_id}`)).body, { report_seq: 0 });
  t.match(await report(events), { status: 200, body: { applied: 2000 } });
});
