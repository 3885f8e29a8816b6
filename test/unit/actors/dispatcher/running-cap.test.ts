/** `[server] max_running`: a cap over all runs that engines hold. */
import t from "tap";
import type { RunExplanation } from "#protocol/records/queue";
import { DispatchKit, type Outcome } from "../../../support/dispatch-kit.ts";
import { createId, MODULE, move, poll, SOURCE_DIR, startRun, workOf } from "../../../support/dispatch-steps.ts";

const capped = (runningMax: number) => new DispatchKit({ settings: { runningMax } });

function runsOf(outcome: Outcome): { run_id: number; lease: number }[] {
  return (outcome.reply?.body as { runs: { run_id: number; lease: number }[] } | undefined)?.runs ?? [];
}

function givenBy(kit: DispatchKit, engine: string, number: number, wish: Record<string, unknown> = {}): unknown[] {
  const identity = { engine_id: engine, pid: 1000, source_dir: SOURCE_DIR, module: MODULE };
  const body = { ...identity, exchange: number, slots: 8, held: [], reports: [], hold: false, ...wish };
  return runsOf(kit.send("Exchange", { body })).map(({ run_id }) => run_id);
}

const reasonOf = (kit: DispatchKit, run: number): RunExplanation["reason"] | undefined =>
  (kit.send("ExplainRun", { target: run }).reply?.body as RunExplanation | undefined)?.reason;

const takes = (outcome: Outcome, waiting: Outcome): unknown => workOf(outcome, waiting.command)?.["run_id"];

t.test("engines hold as many runs as the cap allows, all modules together; the others say so", async (t) => {
  const kit = capped(3);
  const ids = [1, 2, 3, 4].map(() => createId(kit));
  const other = createId(kit, { flow: "other", module: "other.py" });
  t.same(givenBy(kit, "e1", 1), ids.slice(0, 3));
  t.same(givenBy(kit, "e2", 1), []);
  t.equal(workOf(poll(kit, "e3", { module: "other.py", wait_ms: 0 })), null);
  for (const waiting of [Number(ids[3]), other]) {
    t.match(reasonOf(kit, waiting), {
      code: "max_running",
      object: null,
      text: /^all 3 runs that may run at a time \(\[server\] max_running\)/,
    });
  }
});

t.test("a place goes to the run that comes first, whichever engine left it", async (t) => {
  const kit = capped(1);
  const running = startRun(kit, "e1");
  const low = createId(kit);
  const high = createId(kit, { flow: "other", module: "other.py", options: { priority: 5 } });
  const own = poll(kit, "e2");
  const others = poll(kit, "e3", { module: "other.py" });
  const ended = move(kit, running, "Completed");
  t.equal(takes(ended, others), high);
  t.equal(takes(ended, own), undefined);
  move(kit, high, "Pending");
  move(kit, high, "Running");
  t.equal(takes(move(kit, high, "Completed"), own), low);
});

t.test("an exchange that ends a run takes no place of a run that comes before its own", async (t) => {
  const kit = capped(1);
  const first = createId(kit);
  t.same(givenBy(kit, "e1", 1), [first]);
  const state = (type: string, seq: number) => ({
    kind: "run_transition",
    seq,
    state: { type, name: type, timestamp: kit.nowUs, message: null, details: {} },
  });
  const before = createId(kit, { flow: "other", module: "other.py", options: { priority: 5 } });
  const after = createId(kit);
  const waiting = poll(kit, "e3", { module: "other.py" });
  const held = [{ run_id: first, lease: 1 }];
  const identity = { engine_id: "e1", pid: 1000, source_dir: SOURCE_DIR, module: MODULE };
  const reports = [{ ...held[0], events: [state("Pending", 1), state("Running", 2), state("Completed", 3)] }];
  const answer = kit.send("Exchange", { body: { ...identity, exchange: 2, slots: 8, held, reports } });
  t.same(runsOf(answer), []);
  t.equal(takes(answer, waiting), before);
  t.equal(kit.run(after).assigned, false);
});

t.test("a run that no waiting engine may have keeps no place free", async (t) => {
  const kit = capped(2);
  const running = createId(kit, { flow: "other", module: "other.py" });
  const identity = { engine_id: "e9", pid: 9, source_dir: SOURCE_DIR, module: "other.py", held: [], reports: [] };
  const got = kit.send("Exchange", { body: { ...identity, exchange: 1, slots: 1 } });
  const { lease } = runsOf(got)[0] ?? { lease: 0 };
  // The engine waits for further runs, and an exclusive one cannot share with the run that it holds.
  kit.send("Exchange", { body: { ...identity, exchange: 2, slots: 4, held: [{ run_id: running, lease }] } });
  const alone = createId(kit, { flow: "alone", module: "other.py", options: { exclusive: true, priority: 5 } });
  const mine = createId(kit);
  t.same(givenBy(kit, "e1", 1), [mine]);
  t.equal(kit.run(alone).assigned, false);
});

t.test("without a cap nothing waits for a place", async (t) => {
  const kit = new DispatchKit();
  const ids = Array.from({ length: 8 }, () => createId(kit));
  t.same(givenBy(kit, "e1", 1), ids);
});
