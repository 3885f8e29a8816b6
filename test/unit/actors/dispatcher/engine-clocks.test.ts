/** Engines with a wrong clock: their times are kept if they can be represented, and decide nothing. */
import t from "tap";
import { INTEGER_MAX } from "#protocol/limits";
import { parseJson } from "#protocol/values/json";
import { runsEndedBefore } from "#storage/load/load";
import { hasOldHistory } from "#storage/write/trim-history";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId, poll, report, workOf } from "../../../support/dispatch-steps.ts";
import { openStore, putFlow, putRun, putRunEvent, request } from "../../../support/storage-rows.ts";

const SECOND = 1_000_000;
const SKEW = 120 * SECOND;
const TASK = "018f0000-0000-7000-8000-000000000001";

/** A run held by an engine that ends runs itself. */
function take(kit: DispatchKit, seconds: number | null = 25): { run: number; lease: number } {
  const run = createId(kit, { options: { timeout_seconds: seconds } });
  return { run, lease: Number(workOf(poll(kit, "e1", { owns_stop: true }))?.["lease"]) };
}

const moveTo = (seq: number, type: string, timestamp: unknown) => ({ kind: "run_transition", seq, state: { type, timestamp } });

function warningsOf({ logs }: { logs: { lines: unknown[][] }[] }): string[] {
  return logs.flatMap(({ lines }) => lines.filter(([, level]) => level === 30).map((line) => String(line[4])));
}

for (const [name, skewUs] of [
  ["behind", -SKEW],
  ["ahead", SKEW],
] as const) {
  t.test(`a run has its whole time limit with an engine whose clock is 120 s ${name}`, async (t) => {
    const kit = new DispatchKit();
    const { run, lease } = take(kit);
    report(kit, run, [moveTo(1, "Running", kit.nowUs + skewUs)], { lease });
    kit.pass(24 * SECOND);
    t.equal(kit.run(run).state.type, "Running");
    // The engine has twice the grace to end the run.
    kit.pass(20 * SECOND);
    t.equal(kit.run(run).state.type, "Running");
    kit.pass(2 * SECOND);
    t.match(kit.run(run).state, { type: "Failed", name: "TimedOut" });
  });
}

t.test("when the server took a state is stored where the engine's time says otherwise", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  const began = report(kit, run, [moveTo(1, "Running", kit.nowUs - SKEW)], { lease });
  t.match(operations(began, "update_run").at(-1), { state_timestamp: START_US - SKEW, state_received: START_US });
  kit.pass(SECOND);
  const ended = report(kit, run, [moveTo(2, "Completed", kit.nowUs)], { lease });
  t.match(operations(ended, "update_run").at(-1), { state_timestamp: START_US + SECOND, state_received: null });
});

t.test("times from 1970 to 2255 are kept; others are replaced by the time of receipt, which the run's log says", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit, null);
  const first = report(kit, run, [moveTo(1, "Running", 0)], { lease });
  t.match(kit.run(run), { start_time: 0 });
  t.same(warningsOf(first), []);
  const tooLarge = parseJson('{"us":18014398509481982}') as { us: unknown };
  const created = { kind: "task_run_created", seq: 2, external_id: TASK, name: "t", task_key: "t", dynamic_key: "t-0" };
  const moved = {
    kind: "task_run_transition",
    seq: 3,
    external_id: TASK,
    state: { type: "Running", timestamp: tooLarge.us },
    force: true,
  };
  const line = (timestamp: unknown) => ({ run_id: run, level: 20, logger: "l", timestamp, message: "m" });
  const logs = { kind: "logs", seq: 4, logs: [line(-9e15), line(INTEGER_MAX), line(1e300)] };
  const second = report(kit, run, [created, moved, logs], { lease });
  t.match(second.reply, { status: 200, body: { applied: 3 } });
  t.equal([...kit.run(run).tasks.values()][0]?.start_time, START_US);
  t.same(
    second.logs.flatMap(({ lines }) => lines.filter(([, level]) => level === 20).map((each) => each[3])),
    [START_US, INTEGER_MAX, START_US],
  );
  t.same(warningsOf(second), [
    "3 times of its engine lie before 1970 or after 2255; the time of receipt stands instead. Is the engine's clock set?",
  ]);
  const last = report(kit, run, [moveTo(5, "Completed", INTEGER_MAX)], { lease });
  t.match(kit.run(run), { end_time: INTEGER_MAX, total_run_time: INTEGER_MAX });
  t.same(warningsOf(last), []);
});

t.test("a move outside those years, sent again because its answer was lost, changes nothing", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  const body = { type: "Running", lease, timestamp: -1 };
  const first = kit.send("TransitionRun", { target: run, body });
  t.match(first.reply, { status: 200, body: { state: { type: "Running", timestamp: START_US } } });
  t.equal(warningsOf(first).length, 1);
  kit.pass(5 * SECOND);
  const again = kit.send("TransitionRun", { target: run, body });
  t.match(again.reply, { status: 200, body: { state: { timestamp: START_US } } });
  t.same([operations(again, "update_run"), warningsOf(again)], [[], []]);
});

t.test("a run that was stored with a time before all others has a run time that can be told", async (t) => {
  const kit = new DispatchKit();
  const { run, lease } = take(kit);
  report(kit, run, [moveTo(1, "Running", kit.nowUs)], { lease });
  kit.run(run).start_time = -9e15;
  report(kit, run, [moveTo(2, "Completed", kit.nowUs)], { lease });
  t.equal(kit.run(run).total_run_time, INTEGER_MAX);
});

t.test("retention goes by when the server took the end of a run and its events", async (t) => {
  const { writer, statements } = openStore();
  const nowUs = START_US;
  const yearUs = 365 * 86_400 * SECOND;
  const ended = { flow: 1, type: "Completed", stateName: "Completed", scheduled: null, schedule: null, backfill: null } as const;
  const ops: Parameters<typeof putRun>[0] = [];
  putFlow(ops, 1, "p", "f");
  const run = (id: number, end: number, received: number | null) =>
    putRun(ops, {
      ...ended,
      id,
      name: `r${id}`,
      tags: [],
      created: Math.max(nowUs - yearUs, Math.min(end, nowUs)),
      start: end - 1,
      end,
      received,
    });
  run(1, 2, nowUs);
  run(2, nowUs - yearUs, null);
  run(3, nowUs, null);
  run(4, INTEGER_MAX, nowUs - yearUs);
  const began = { ...ended, id: 5, name: "r5", tags: [], created: nowUs - yearUs };
  putRun(ops, { ...began, start: 0, end: nowUs - yearUs, received: null });
  for (let index = 0; index < 600; index += 1) putRunEvent(ops, "run.completed", 1, 1, "Completed", 2);
  const { batch, logs } = request(writer, 1, { ops });
  writer.commit({ batch: { ...batch, received_us: nowUs }, logs });
  t.same(runsEndedBefore(statements, nowUs - 90 * 86_400 * SECOND, 20), [2, 4, 5]);
  t.equal(hasOldHistory(statements, nowUs - 30 * 86_400 * SECOND, 10_000), false);
  t.equal(hasOldHistory(statements, nowUs + 1, 10_000), true);
});
