import { once } from "node:events";
import { hostname } from "node:os";
import t from "tap";
import { startEngine } from "../support/engine-process.ts";

/** The engine that most tests share; it executes one run after the other. */
const { server } = await startEngine(t, "basic.ts");
t.afterEach(() => {
  server.intercept = () => undefined;
});

t.test("a run goes through its states, with everything it reported before the last one", async (t) => {
  const run = await server.ended(server.enqueue("sums", { upTo: "7" }));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.same(run.state.details, { result: { value: 8 } });
  t.match(server.paths(run).at(-1), "Completed", "nothing is left to report afterwards");
  t.same(server.logs(run), [`summing up to 7 for { run: 'run-${run.id}' }`, "printed"]);
  t.same(
    run.items.slice(0, 4).map(({ kind }) => kind),
    ["logs", "task_run_created", "task_run_transition", "task_run_transition"],
  );
  const transition = server.received.find(({ path }) => path === `/api/runs/${run.id}/transition`);
  t.same(transition?.body, { type: "Pending", name: "Pending", message: null, details: {}, force: false });
  const poll = server.received[0];
  t.match(poll, {
    path: "/api/engine/work",
    body: { engine_id: "engine-1", module: "basic.ts", isolated: false, nice: 0, wait_ms: 30_000, owns_stop: true },
  });
  t.ok(String(poll?.body["host"]).startsWith(hostname()));
});

t.test("a run that reports nothing takes three requests", async (t) => {
  const run = await server.ended(server.enqueue("bare"));
  t.same(server.paths(run), ["Pending", "Running", "Completed"]);
  t.same(run.state.details, {});
});

t.test("a failed flow waits as AwaitingRetry and goes on as Retrying", async (t) => {
  const waits: unknown[] = [];
  server.intercept = ({ body }) => {
    if (body["name"] === "AwaitingRetry") waits.push(body);
    return undefined;
  };
  const run = await server.ended(server.enqueue("flaky"));
  t.same(run.history, ["Pending", "Running", "AwaitingRetry", "Retrying", "AwaitingRetry", "Retrying", "Completed"]);
  t.match(waits[0], {
    type: "Scheduled",
    message: "RangeError: failure 1",
    details: { attempt: 1, delay: 0.01, retries: 2, exception: "RangeError", traceback: /failure 1/ },
  });
});

t.test("unknown flows and wrong parameters fail the run after Running", async (t) => {
  const unknown = await server.ended(server.enqueue("nowhere"));
  t.same(unknown.history, ["Pending", "Running", "Failed"]);
  t.match(unknown.state.message, /flow engine-flows\/nowhere is not defined/);
  const wrong = await server.ended(server.enqueue("sums", { upTo: "many" }));
  t.same(wrong.history, ["Pending", "Running", "Failed"]);
  t.match(wrong.state, { message: /ParameterError: upTo/, details: { exception: "ParameterError" } });
});

t.test("a run whose Pending is refused is not started, one already cancelled is ended at once", async (t) => {
  const refused = server.enqueue("bare");
  refused.state = { ...refused.state, type: "Cancelled", name: "Cancelled" };
  await server.until(() => server.paths(refused).length === 1 && server.parked);
  t.same(server.paths(refused), ["Pending"]);
  const cancelled = await server.ended(server.enqueue("bare", {}, { cancel_requested: true }));
  t.same(cancelled.history, ["Cancelled"]);
});

t.test("the lease of a work item comes back with every request of its run", async (t) => {
  const run = await server.ended(server.enqueue("sums", {}, { lease: 77 }));
  const own = server.received.filter(({ path, body }) => path.includes(`/runs/${run.id}/`) || body["run_id"] === run.id);
  t.ok(own.length >= 4);
  for (const { body } of own) t.equal(body["lease"], 77);
  t.type(own[0]?.body["timestamp"], "number", "a transition with a lease can be recognised when it is repeated");
});

t.test("an answer that was lost is asked for again and nothing happens twice", async (t) => {
  const lost = new Set(["Running", "report", "Completed"]);
  server.intercept = ({ path, body }) => {
    const name = path.endsWith("/report") ? "report" : String(body["name"]);
    return lost.delete(name) ? "cut-after" : undefined;
  };
  const run = await server.ended(server.enqueue("sums"));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  const seqs = run.items.map(({ seq }) => Number(seq));
  t.same(
    seqs,
    seqs.map((_, index) => index + 1),
  );
});

t.test("many log lines arrive in order and in requests of bounded size", async (t) => {
  const run = await server.ended(server.enqueue("chatty"));
  t.same(
    server.logs(run),
    Array.from({ length: 12_000 }, (_, line) => `line ${line}`),
  );
  const sizes = server.received
    .filter(({ path, body }) => path.endsWith("/report") && body["run_id"] === run.id)
    .map(({ body }) => (body["events"] as { logs: unknown[] }[]).reduce((sum, { logs }) => sum + logs.length, 0));
  t.ok(Math.max(...sizes) <= 5000, `largest request: ${Math.max(...sizes)} lines`);
});

t.test("jobs are answered", async (t) => {
  server.enqueue(
    "sums",
    {},
    { kind: "bulk_complete", run_id: 0, payload: { kind: "bulk_complete", backfill_id: 9, flow_id: 1 } },
  );
  await server.until(() => server.received.some(({ path }) => path === "/api/backfills/9/prefilter"));
  t.same(server.received.at(-1)?.body, { skip: [] });
  const crashed = server.enqueue("hooked", {}, { kind: "hooks", payload: { kind: "hooks", run_id: 2, state: "Crashed" } });
  await server.until(() => server.logs(crashed).length > 0);
  t.same(server.logs(crashed), [`crash hook of run-${crashed.id}`]);
});

t.test("hooks of a run are called after its last state", async (t) => {
  const run = server.enqueue("hooked");
  await server.until(() => server.logs(run).length > 0);
  t.same(server.logs(run), [`completed: run-${run.id}`]);
  t.same(server.paths(run), ["Pending", "Running", "Completed", "report"]);
});

t.test("exit, --once and SIGTERM end an idle engine with code 0", async (t) => {
  const told = await startEngine(t, "basic.ts");
  await told.server.until(() => told.server.parked);
  told.server.exit();
  t.equal(await told.exited, 0);

  const isolated = await startEngine(t, "basic.ts", ["--once"]);
  await isolated.server.ended(isolated.server.enqueue("bare"));
  t.equal(await isolated.exited, 0);
  t.match(isolated.server.received[0]?.body, { isolated: true });

  const stopped = await startEngine(t, "basic.ts");
  await stopped.server.until(() => stopped.server.parked);
  stopped.engine.kill("SIGTERM");
  t.equal(await stopped.exited, 0);
});

t.test("a module that cannot be imported is told to the server", async (t) => {
  const { server, exited, complaints } = await startEngine(t, "broken.ts");
  t.equal(await exited, 1);
  t.match(server.received, [{ path: "/api/engine/failed", body: { engine_id: "engine-1", module: "broken.ts" } }]);
  t.match(String(server.received[0]?.body["traceback"]).split("\n").at(-1), /broken on purpose/);
  t.match(complaints(), /cannot import broken\.ts/);
});

t.test("SIGTERM ends an engine whose module never finishes its import", async (t) => {
  const { engine, exited, complaints } = await startEngine(t, "endless-import.ts");
  while (!complaints().includes("importing")) await once(engine.stderr ?? engine, "data");
  engine.kill("SIGTERM");
  t.equal(await exited, 0);
});

t.test("a poll that is refused is repeated", async (t) => {
  let refusals = 1;
  server.intercept = ({ path }) =>
    path === "/api/engine/work" && refusals-- > 0 ? { status: 500, body: { error: "x" } } : undefined;
  t.same((await server.ended(server.enqueue("bare"))).history, ["Pending", "Running", "Completed"]);
});
