/** An engine whose server accepts moves inside reports: the same runs with fewer requests. */
import t from "tap";
import { startEngine } from "../support/engine-process.ts";
import type { ServedRun } from "../support/protocol-server.ts";

const { server } = await startEngine(t, "basic.ts");
const stopping = await startEngine(t, "stopping.ts", ["--grace", "0.5", "--heartbeat", "0.2"]);
t.afterEach(() => {
  server.intercept = () => undefined;
});

const TOGETHER = { lease: 5, run_transitions: true };

/** Consecutive numbers from 1: nothing was lost or applied twice. */
function numbersOf(run: ServedRun, of = server): number[] {
  const own = of.received.filter(({ path, body }) => path.endsWith("/report") && body["run_id"] === run.id);
  return [...new Set(own.flatMap(({ body }) => (body["events"] as { seq: number }[]).map(({ seq }) => seq)))];
}

t.test("a run that reports nothing takes two requests", async (t) => {
  const run = await server.ended(server.enqueue("bare", {}, TOGETHER));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.same(server.paths(run), ["report: Pending, Running", "report: Completed"]);
});

t.test("the last move is in the report with what came before it", async (t) => {
  const run = await server.ended(server.enqueue("sums", { upTo: "7" }, TOGETHER));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.match(run.state, { details: { result: { value: 8 } } });
  t.equal(server.paths(run).at(-1), "report: Completed");
  t.same(server.logs(run), [`summing up to 7 for { run: 'run-${run.id}' }`, "printed"]);
  const numbers = numbersOf(run);
  t.same(
    numbers,
    numbers.map((_, index) => index + 1),
  );
});

t.test("attempts, wrong parameters and hooks", async (t) => {
  const flaky = await server.ended(server.enqueue("flaky", {}, TOGETHER));
  t.same(flaky.history, ["Pending", "Running", "AwaitingRetry", "Retrying", "AwaitingRetry", "Retrying", "Completed"]);
  const wrong = await server.ended(server.enqueue("sums", { upTo: "many" }, TOGETHER));
  t.match(wrong.state, { name: "Failed", message: /ParameterError: upTo/ });
  const hooked = server.enqueue("hooked", {}, TOGETHER);
  await server.until(() => server.logs(hooked).length > 0);
  t.same(server.paths(hooked), ["report: Pending, Running", "report: Completed", "report"]);
});

t.test("a run that was cancelled before its start is not started", async (t) => {
  const run = server.enqueue("bare", {}, TOGETHER);
  run.state = { ...run.state, type: "Cancelled", name: "Cancelled" };
  await server.until(() => server.paths(run).length === 1 && server.parked);
  t.same(server.paths(run), ["report: Pending, Running"]);
});

t.test("answers that were lost are asked for again, and nothing happens twice", async (t) => {
  let lost = 2;
  server.intercept = ({ path }) => {
    if (!path.endsWith("/report") || lost === 0) return undefined;
    lost -= 1;
    return lost === 1 ? "cut-after" : "cut";
  };
  const run = await server.ended(server.enqueue("sums", {}, TOGETHER));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.equal(lost, 0);
});

t.test("a cancel that comes when the function has returned ends the run as Cancelled", async (t) => {
  const run = server.enqueue("bare", {}, TOGETHER);
  server.intercept = ({ path, body }) => {
    const completes = path.endsWith("/report") && JSON.stringify(body).includes("Completed");
    if (completes && run.state.type === "Running") run.state = { ...run.state, type: "Cancelling", name: "Cancelling" };
    return undefined;
  };
  await server.ended(run);
  t.same(run.history, ["Pending", "Running", "Cancelled"]);
});

t.test("a cancel, a time limit and the end of the thread are reported with the tasks they took along", async (t) => {
  const { server: other } = stopping;
  const cancelled = other.enqueue("obedient", {}, TOGETHER);
  await other.until(() => other.logs(cancelled).includes("started"));
  cancelled.cancel = true;
  cancelled.state = { ...cancelled.state, type: "Cancelling", name: "Cancelling" };
  await other.ended(cancelled);
  t.equal(other.paths(cancelled).at(-1), "report: Cancelled");
  t.match(cancelled.items.at(-1), { kind: "task_run_transition", state: { type: "Cancelled" } });
  const late = await other.ended(other.enqueue("timed-hang", {}, TOGETHER));
  t.same(late.history, ["Pending", "Running", "TimedOut"]);
  const exited = await other.ended(other.enqueue("exits", {}, TOGETHER));
  t.match(exited.state, { type: "Crashed", message: "process.exit(3) was called" });
  await other.ended(other.enqueue("fresh", {}, TOGETHER));
  t.equal(stopping.complaints(), "", "a crash that the server has decided is no news");
});
