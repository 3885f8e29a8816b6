/** Runs of one engine, one of which ends its thread or does not stop. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type StartedEngine, startEngine } from "../support/engine-process.ts";
import type { ServedRun } from "../support/protocol-server.ts";
import { testFolder } from "../support/test-folder.ts";

const dir = testFolder(t);
const HASTE = ["--grace", "0.5", "--heap-mb", "64"];

/** Starts seven runs that wait for a file, so that the engine takes an eighth one. */
async function startSeven({ server }: StartedEngine, name: string): Promise<{ runs: ServedRun[]; go(): void }> {
  const path = join(dir, name);
  const runs = server.enqueueAll(Array.from({ length: 7 }, () => ({ flow: "until", parameters: { path } })));
  await server.until(() => runs.every((run) => server.logs(run).includes("started")));
  return { runs, go: () => writeFileSync(path, "") };
}

t.test("the run that ends the thread says why; the others were stopped with it", async (t) => {
  const started = await startEngine(t, "side-by-side.ts", HASTE);
  const { server } = started;
  const faults = [
    ["exits", "process.exit(3) was called", { exit_code: 3 }],
    ["uncaught", "uncaught TypeError: from a callback", { exception: "TypeError" }],
    ["rejects", "unhandled rejection: Error: lost", { exception: "Error" }],
  ] as const;
  for (const [flow, cause, details] of faults) {
    const { runs } = await startSeven(started, flow);
    const fault = await server.ended(server.enqueue(flow));
    t.match(fault.state, { type: "Crashed", message: cause, details }, flow);
    t.notOk("fault" in fault.state.details, "its own fault");
    await server.allEnded(runs);
    for (const { state, history } of runs) {
      t.same(history, ["Pending", "Running", "Crashed"]);
      t.equal(state.message, `stopped with run ${fault.id}: ${cause}`);
      t.same(state.details, { fault: "other", stopped_with: fault.id });
    }
  }
  t.same((await server.ended(server.enqueue("fresh"))).state.details, { result: 1 }, "in a fresh thread");
});

t.test("a full heap is the fault of a run that is alone; beside others it cannot be told whose", async (t) => {
  const started = await startEngine(t, "side-by-side.ts", HASTE);
  const { server } = started;
  const alone = await server.ended(server.enqueue("memory"));
  t.match(alone.state, { type: "Crashed", message: /out of memory/ });
  t.same(alone.state.details, { out_of_memory: true });
  const { runs } = await startSeven(started, "full");
  const all = [...runs, server.enqueue("memory")];
  await server.allEnded(all);
  for (const { state } of all) {
    t.match(state, { type: "Crashed", message: /out of memory/ });
    t.same(state.details, { out_of_memory: true, fault: "unknown" });
  }
});

t.test("an endless loop that is cancelled ends the thread", async (t) => {
  const started = await startEngine(t, "side-by-side.ts", HASTE);
  const { server } = started;
  const { runs } = await startSeven(started, "spins");
  const endless = server.enqueue("spins");
  await server.until(() => server.logs(endless).includes("started"));
  server.cancel(endless);
  await server.ended(endless);
  t.same(endless.history, ["Pending", "Running", "Cancelled"]);
  await server.allEnded(runs);
  for (const { state } of runs)
    t.match(state, {
      type: "Crashed",
      message: `stopped with run ${endless.id}: the thread of the flow was ended`,
      details: { fault: "other", stopped_with: endless.id },
    });
});

t.test("a run that leaves its signal unheard but yields is abandoned alone, and the thread ends after the others", async (t) => {
  const started = await startEngine(t, "side-by-side.ts", HASTE);
  const { server } = started;
  const { runs, go } = await startSeven(started, "deaf");
  const deaf = server.enqueue("deaf");
  await server.until(() => server.logs(deaf).includes("still here"));
  server.cancel(deaf);
  await server.ended(deaf);
  t.same(deaf.history, ["Pending", "Running", "Cancelled"]);
  const lines = server.logs(deaf).length;
  const next = server.enqueue("fresh");
  await server.until(() => server.parked);
  t.equal(server.exchanges.at(-1)?.slots, 0, "the engine drains");
  t.equal(next.given, 0);
  go();
  await server.allEnded(runs);
  for (const { state } of runs) t.match(state, { type: "Completed", details: { result: "went on" } });
  t.same((await server.ended(next)).state.details, { result: 1 });
  t.equal(server.logs(deaf).length, lines, "what the code did after its end is not recorded");
});

t.test("an engine whose run is being stopped does not ask for it all the time", async (t) => {
  const started = await startEngine(t, "side-by-side.ts", HASTE);
  const { server } = started;
  const deaf = server.enqueue("spins");
  await server.until(() => server.logs(deaf).includes("started") && server.parked);
  const before = server.exchanges.length;
  server.cancel(deaf);
  await server.ended(deaf);
  t.ok(server.exchanges.length - before < 30, `${server.exchanges.length - before} exchanges`);
});

t.test("the other runs of a thread in which code goes on have a limited time to end", async (t) => {
  const started = await startEngine(t, "side-by-side.ts", [...HASTE, "--drain", "0.5"]);
  const { server } = started;
  const { runs } = await startSeven(started, "never");
  const deaf = server.enqueue("deaf");
  await server.until(() => server.logs(deaf).includes("still here"));
  server.cancel(deaf);
  await server.allEnded([deaf, ...runs]);
  for (const { state } of runs) t.match(state, { type: "Crashed", details: { fault: "other", stopped_with: deaf.id } });
  t.same((await server.ended(server.enqueue("fresh"))).state.details, { result: 1 });
});
