import t from "tap";
import { startEngine } from "../support/engine-process.ts";
import type { ServedRun } from "../support/protocol-server.ts";

const HASTE = ["--slots", "1", "--grace", "0.5", "--heap-mb", "64"];

/** The engine that most tests share; after each stop it must execute the next run normally. */
const { server, complained } = await startEngine(t, "stopping.ts", HASTE);

async function cancelOnce(run: ServedRun): Promise<ServedRun> {
  await server.until(() => server.logs(run).includes("started"));
  server.cancel(run);
  return await server.ended(run);
}

t.test("a cancel aborts the signal, and the run ends as Cancelled with its tasks", async (t) => {
  const run = await cancelOnce(server.enqueue("obedient"));
  t.same(run.history, ["Pending", "Running", "Cancelled"]);
  t.equal(run.state.message, "cancelled");
  t.match(run.items.at(-1), { kind: "task_run_transition", state: { type: "Cancelled" } });
});

t.test("code that never yields is ended with its thread, and its run is listed until then", async (t) => {
  for (const flow of ["busy", "busy-task"]) {
    const run = await cancelOnce(server.enqueue(flow));
    t.ok(run.listed > 0);
    t.same(run.history, ["Pending", "Running", "Cancelled"], flow);
  }
  t.same((await server.ended(server.enqueue("fresh"))).state.details, { result: 1 }, "the next run gets a fresh module");
  t.same((await server.ended(server.enqueue("fresh"))).state.details, { result: 2 }, "which stays warm");
});

t.test("a run out of time ends as TimedOut, whatever its code does, and is not tried again", async (t) => {
  const busy = await server.ended(server.enqueue("timed-busy"));
  t.same(busy.history, ["Pending", "Running", "TimedOut"]);
  t.match(busy.state, { type: "Failed", message: "timed out after 0.7 s" });
  t.match(
    server.logs(busy).at(-1),
    /^attempt 1 of 1 failed: timed out/,
    "a line of the log does not speak of retries that were never asked for",
  );
  const hung = await server.ended(server.enqueue("timed-hang"));
  t.match(server.logs(hung).at(-1), /^attempt 1 of 3 failed, and there is no other: timed out/);
  t.same(hung.history, ["Pending", "Running", "TimedOut"]);
});

t.test("process.exit, an uncaught error and a full heap end the run as Crashed with their cause", async (t) => {
  const exited = await server.ended(server.enqueue("exits"));
  t.match(exited.state, { type: "Crashed", message: "process.exit(3) was called" });
  t.match(exited.state.details, { exit_code: 3, traceback: /process\.exit\(3\) was called\n.*stopping\.ts:\d+/s });
  t.same(server.logs(exited), ["about to exit", "attempt 1 of 1 failed: process.exit(3) was called"]);
  t.match(exited.items.at(-1), { kind: "task_run_transition", state: { type: "Crashed" } });
  const uncaught = await server.ended(server.enqueue("uncaught"));
  t.match(uncaught.state, { type: "Crashed", message: "uncaught TypeError: from a callback" });
  t.match(uncaught.state.details, { exception: "TypeError", traceback: /^TypeError: from a callback\n.*stopping\.ts:\d+/ });
  const rejected = await server.ended(server.enqueue("rejects"));
  t.match(rejected.state, { type: "Crashed", message: "unhandled rejection: Error: lost" });
  t.match(rejected.state.details, {
    traceback: /^Error: lost\n.*stopping\.ts:\d+.*\[cause\]: RangeError: root\n.*stopping\.ts/s,
  });
  const memory = await server.ended(server.enqueue("memory"));
  t.match(memory.state, { type: "Crashed", message: "out of memory", details: { out_of_memory: true } });
  t.same((await server.ended(server.enqueue("fresh"))).state.details, { result: 1 });
});

t.test("code that goes on after its run is ended with its thread", async (t) => {
  const run = await server.ended(server.enqueue("lingering"));
  t.same(run.history, ["Pending", "Running", "Completed"]);
  t.same(run.state.details, { result: "went on" });
  t.same((await server.ended(server.enqueue("fresh"))).state.details, { result: 1 }, "no stray code is left");
});

t.test("an error after the end of its run stands in the output of the engine", async (t) => {
  const run = await server.ended(server.enqueue("late"));
  t.equal(run.state.type, "Completed");
  await complained(`code of run ${run.id}, which had ended, ended its thread: uncaught TypeError: after the end`);
  await complained("stopping.ts:");
  t.equal((await server.ended(server.enqueue("fresh"))).state.type, "Completed");
});

t.test("a run that the server no longer knows is stopped without a word", async (t) => {
  const run = server.enqueue("obedient");
  await server.until(() => server.logs(run).includes("started"));
  server.delete(run);
  const next = await server.ended(server.enqueue("fresh"));
  t.equal(next.state.type, "Completed");
  t.notOk(server.paths(run).some((path) => path.includes("Cancelled")));
});

t.test("SIGTERM lets the current run finish; a second one ends it as Crashed", async (t) => {
  const { server, engine, exited } = await startEngine(t, "stopping.ts", HASTE);
  const run = server.enqueue("obedient");
  await server.until(() => server.logs(run).includes("started"));
  await server.until(() => server.parked);
  const { listed } = run;
  engine.kill("SIGTERM");
  await server.until(() => run.listed > listed);
  t.equal(server.exchanges.at(-1)?.slots, 0);
  t.equal(run.state.type, "Running");
  engine.kill("SIGTERM");
  await server.ended(run);
  t.match(run.state, { type: "Crashed", message: "the engine was stopped" });
  t.equal(await exited, 0);
});
