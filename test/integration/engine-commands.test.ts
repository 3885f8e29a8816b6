import t from "tap";
import { listProcesses, namesOf, processesOf, type SystemProcess } from "#system/run-processes";
import { startEngine } from "../support/engine-process.ts";
import type { ServedRun } from "../support/protocol-server.ts";

const { server } = await startEngine(t, "commands.ts", ["--grace", "4"]);
/** The grace of a command, the engine's look at its processes, and what a busy machine adds. */
const STOPPED_MS_MAX = 10 * 4_000;

/** The processes that carry the mark of a run. */
const processes = async (run: ServedRun): Promise<SystemProcess[]> => processesOf(run.externalId, await listProcesses());
const logged = (run: ServedRun, text: string) => server.until(() => server.logs(run).includes(text));

t.test("the lines of a command are in the log while it runs", async (t) => {
  const run = server.enqueue("live");
  await logged(run, "first");
  t.equal(run.state.type, "Running");
  server.cancel(run);
  await server.ended(run);
  t.equal(run.state.type, "Cancelled");
});

t.test("a cancel ends the whole tree of a command, whatever its processes make of SIGTERM", async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const run = server.enqueue("tree");
    await logged(run, "started");
    t.ok((await processes(run)).length >= 50, "the tree has at least 50 processes");
    const from = performance.now();
    server.cancel(run);
    await server.ended(run);
    t.equal(run.state.type, "Cancelled");
    t.ok(performance.now() - from < STOPPED_MS_MAX);
    t.equal(namesOf(await processes(run)), "", "no process of the tree is left");
  }
});

t.test("no line of a large output is lost", async (t) => {
  const [count, width] = [50_000, 99];
  const run = await server.ended(server.enqueue("lines", { count, width }));
  t.same(run.state.details, { result: count * (width + 1) });
  const logs = server.logs(run);
  t.equal(logs.length, count);
  t.ok(logs.every((line, at) => line === String(at + 1).padEnd(width, ".")));
});

t.test("after success the group of a command ends, and what has left its session stays", async (t) => {
  const run = await server.ended(server.enqueue("background"));
  t.equal(run.state.type, "Completed");
  const left = await processes(run);
  t.match(namesOf(left), /^sleep \(\d+\)$/);
  for (const { pid } of left) process.kill(pid);
  const logs = server.logs(run);
  t.ok(logs.some((line) => /that had not ended are ended with the run: sleep/.test(line)));
  t.ok(logs.some((line) => /with a process group of their own go on: sleep/.test(line)));
});
