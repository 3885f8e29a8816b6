import { once } from "node:events";
import { hostname } from "node:os";
import t from "tap";
import { startEngine } from "../support/engine-process.ts";
import type { ServedRun } from "../support/protocol-server.ts";

/** The engine that most tests share. */
const { server } = await startEngine(t, "basic.ts", ["--slots", "1"]);
t.afterEach(() => {
  server.intercept = () => undefined;
});

/** The numbers of everything that was reported about a run. */
function numbersOf(run: ServedRun): number[] {
  return [...new Set(server.reports(run).flatMap(({ events }) => events.map(({ seq }) => Number(seq))))];
}

t.test("a run goes through its states, with everything it reported before the last one", async (t) => {
  const run = await server.ended(server.enqueue("sums", { upTo: "7" }));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.same(run.state.details, { result: { value: 8 } });
  t.equal(server.paths(run).at(-1), "report: Completed", "nothing is left to report afterwards");
  t.same(server.logs(run), [`summing up to 7 for { run: 'run-${run.id}' }`, "printed"]);
  t.same(
    run.items.slice(0, 4).map(({ kind }) => kind),
    ["logs", "task_run_created", "task_run_transition", "task_run_transition"],
  );
  const numbers = numbersOf(run);
  t.same(
    numbers,
    numbers.map((_, index) => index + 1),
  );
  const first = server.received[0];
  t.match(first, {
    path: "/api/engine/exchange",
    body: {
      engine_id: "engine-1",
      module: "basic.ts",
      isolated: false,
      nice: 0,
      exchange: 1,
      slots: 1,
      held: [],
      reports: [],
      hold: undefined,
    },
  });
  t.ok(String(first?.body["host"]).startsWith(hostname()));
});

t.test("a run that reports nothing else takes two reports, and is listed as held between them", async (t) => {
  const run = await server.ended(server.enqueue("bare"));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.same(server.paths(run), ["report: Pending, Running", "report: Completed"]);
  t.same(run.state.details, {});
  t.ok(run.listed >= 2);
  await server.until(() => server.parked);
  t.same(server.exchanges.at(-1)?.held, [], "not after its end");
  for (const { lease } of server.reports(run)) t.equal(lease, run.lease);
});

t.test("a failed flow waits as AwaitingRetry and goes on as Retrying", async (t) => {
  const run = await server.ended(server.enqueue("flaky"));
  t.same(run.history, ["Pending", "Running", "AwaitingRetry", "Retrying", "AwaitingRetry", "Retrying", "Completed"]);
  const moves = server.reports(run).flatMap(({ events }) => events.filter(({ kind }) => kind === "run_transition"));
  t.match(
    moves.find(({ state }) => (state as { name: string }).name === "AwaitingRetry"),
    {
      state: {
        type: "Scheduled",
        message: "RangeError: failure 1",
        details: { attempt: 1, delay: 0.01, retries: 2, exception: "RangeError", traceback: /failure 1/ },
      },
    },
  );
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
  t.same(server.paths(refused), ["report: Pending, Running"]);
  const cancelled = await server.ended(server.enqueue("bare", {}, { cancel_requested: true }));
  t.same(cancelled.history, ["Cancelled"]);
});

t.test("a cancel that comes when the function has returned ends the run as Cancelled", async (t) => {
  const run = server.enqueue("bare");
  server.intercept = ({ body }) => {
    if (JSON.stringify(body).includes("Completed") && run.state.type === "Running")
      run.state = { ...run.state, type: "Cancelling", name: "Cancelling" };
    return undefined;
  };
  await server.ended(run);
  t.same(run.history, ["Pending", "Running", "Cancelled"]);
});

t.test("reports whose exchange or answer was lost are sent again, and nothing happens twice", async (t) => {
  for (const [name, how] of [
    ["Running", "cut-after"],
    ["task_run_created", "cut"],
    ["Completed", "cut-after"],
  ] as const) {
    let lost = 0;
    server.intercept = ({ body }) => {
      if (lost > 0 || !JSON.stringify(body).includes(name)) return undefined;
      lost += 1;
      return how;
    };
    const run = await server.ended(server.enqueue("sums"));
    await server.until(() => server.parked);
    t.equal(lost, 1, name);
    t.same(run.history, ["Pending", "Running", "Completed"]);
    t.equal(run.given, 1);
    const seqs = run.items.map(({ seq }) => Number(seq));
    t.same(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
    t.equal(new Set(seqs).size, seqs.length);
  }
});

t.test("many log lines arrive in order and in requests of bounded size", async (t) => {
  const run = await server.ended(server.enqueue("chatty"));
  t.same(
    server.logs(run),
    Array.from({ length: 12_000 }, (_, line) => `line ${line}`),
  );
  const sizes = server
    .reports(run)
    .map(({ events }) => events.reduce((sum, { logs }) => sum + ((logs as unknown[] | undefined)?.length ?? 0), 0));
  t.ok(Math.max(...sizes) <= 5000, `largest request: ${Math.max(...sizes)} lines`);
});

t.test("jobs are answered, and are not listed as held", async (t) => {
  server.enqueue(
    "sums",
    {},
    { kind: "bulk_complete", run_id: 0, lease: undefined, payload: { kind: "bulk_complete", backfill_id: 9, flow_id: 1 } },
  );
  await server.until(() => server.received.some(({ path }) => path === "/api/backfills/9/prefilter"));
  t.same(server.received.findLast(({ path }) => path === "/api/backfills/9/prefilter")?.body, { skip: [] });
  const job = { kind: "hooks", lease: undefined, payload: { kind: "hooks", run_id: 2, state: "Crashed" } };
  const crashed = server.enqueue("hooked", {}, job);
  await server.until(() => server.logs(crashed).length > 0);
  t.same(server.logs(crashed), [`crash hook of run-${crashed.id}`]);
  t.equal(crashed.listed, 0);
});

t.test("hooks of a run are called after its last state", async (t) => {
  const run = server.enqueue("hooked");
  await server.until(() => server.logs(run).length > 0);
  t.same(server.logs(run), [`completed: run-${run.id}`]);
  t.same(server.paths(run), ["report: Pending, Running", "report: Completed", "report"]);
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

t.test("an exchange that is refused is followed by another, and the refusal is said once", async (t) => {
  const { server, complaints } = await startEngine(t, "basic.ts");
  await server.until(() => server.parked);
  let refusals = 0;
  server.intercept = ({ path }) => {
    if (path !== "/api/engine/exchange" || refusals === 3) return undefined;
    refusals += 1;
    return { status: 503, body: { error: "the store takes no writes" } };
  };
  t.same((await server.ended(server.enqueue("bare"))).history, ["Pending", "Running", "Completed"]);
  t.equal(complaints().split("the store takes no writes").length, 2);
});
