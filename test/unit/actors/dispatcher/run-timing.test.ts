/** The stages of runs, as GET /api/runs/{id}/timing answers them. */
import t, { type Test } from "tap";
import { loadLiveState } from "#actors/dispatch-group/load";
import type { FlowTiming, RunTiming } from "#protocol/records/timing";
import { INVARIANTS } from "#storage/invariants/check-store";
import { loadStore } from "#storage/load/load";
import { runQuery } from "#storage/queries/named";
import { readMarks, stagesOf } from "#storage/schema/run-marks";
import type { DispatchKit } from "../../../support/dispatch-kit.ts";
import { SETTINGS } from "../../../support/dispatch-kit.ts";
import { createId, move, poll, workOf } from "../../../support/dispatch-steps.ts";
import { arm, moveOf, parkOf, send, startDurable, takeRun } from "../../../support/durable-steps.ts";
import type { Store } from "../../../support/storage-rows.ts";
import { COMMIT_US, storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;

function timingOf({ statements }: Store, id: number, nowUs = 0): RunTiming {
  return JSON.parse(runQuery(statements, "run_timing", { id, now_us: nowUs }) ?? "null") as RunTiming;
}

/** Each stage with its length, and checks that they follow each other and add up. */
function stages(t: Test, store: Store, id: number, nowUs = 0): [string, number][] {
  const timing = timingOf(store, id, nowUs);
  let us = timing.from;
  for (const { from, to, us: length } of timing.stages) {
    t.equal(from, us, "no gap");
    us = to ?? from + length;
  }
  t.equal(us - timing.from, timing.total_us, "the stages add up to the whole");
  if (timing.to !== null) t.equal(us, timing.to);
  const invariant = INVARIANTS.find(({ id: each }) => each === "I14");
  t.strictSame(invariant?.check?.(store.statements, { totals: null, open: () => null }), []);
  return timing.stages.map(({ stage, us: length }) => [stage, length]);
}

function end(kit: DispatchKit, held: Parameters<typeof send>[1], seq = 3, type = "Completed"): void {
  send(kit, held, [moveOf(kit, seq, type)]);
}

t.test("a run that an engine waits for: creation and hand-out are one commit", async (t) => {
  const { kit, store } = storedKit();
  const polled = poll(kit, "e1", { owns_stop: true });
  const created = kit.send("CreateRun", {
    body: { project: "shop", flow: "job", module: "jobs.py", source_dir: "/flows" },
  });
  const item = workOf(created, polled.command);
  const held = { id: Number(item?.["run_id"]), lease: Number(item?.["lease"]), engine: "e1", item: {} };
  const from = kit.nowUs;
  kit.pass(2_000);
  const startedUs = kit.nowUs - 500;
  send(kit, held, [moveOf(kit, 1, "Pending"), moveOf(kit, 2, "Running", { timestamp: startedUs })]);
  kit.pass(SECOND_US);
  const endedUs = kit.nowUs - 300;
  send(kit, held, [moveOf(kit, 3, "Completed", { timestamp: endedUs })]);
  t.strictSame(stages(t, store, held.id), [
    ["creating", COMMIT_US],
    ["starting", 1_500 - COMMIT_US],
    ["running", SECOND_US + 200],
    ["reporting", 300],
    ["publishing", COMMIT_US],
  ]);
  t.strictSame(timingOf(store, held.id).moments, {
    durable: from + COMMIT_US,
    eligible: from + COMMIT_US,
    matched: from + COMMIT_US,
    delivered: from + COMMIT_US,
    accepted: startedUs,
    code_ended: endedUs,
    reported: kit.nowUs,
    published: kit.nowUs + COMMIT_US,
  });
});

t.test("a run waits for a resource that another run holds", async (t) => {
  const { kit, store } = storedKit();
  const options = { resources: { database: 1 } };
  const first = createId(kit, { options });
  const holder = takeRun(kit);
  t.equal(holder.id, first);
  const id = createId(kit, { options });
  kit.pass(3 * SECOND_US);
  end(kit, holder);
  kit.pass(2 * SECOND_US);
  const held = takeRun(kit, "e2");
  t.equal(held.id, id);
  kit.pass(1_000);
  end(kit, held);
  const found = stages(t, store, id);
  t.match(found, [
    ["creating", COMMIT_US],
    ["blocked", 5 * SECOND_US - COMMIT_US],
    ["handed_out", COMMIT_US],
    ["running", 1_000 - COMMIT_US],
    ["publishing", COMMIT_US],
  ]);
  t.equal(timingOf(store, id).stages[1]?.object, "database");
});

t.test("before its scheduled time a run is not due, also where that was not noted", async (t) => {
  const spansOf = (text: string): unknown[] =>
    stagesOf(readMarks(text, 1_000), 1_000, 1_500).map(({ stage, from }) => [stage, from]);
  const end = [
    ["waiting", 1_500],
    ["handed_out", 1_600],
  ];
  t.strictSame(spansOf("d@1100m600"), [["creating", 1_000], ["not_due", 1_100], ...end]);
  t.strictSame(spansOf("d@1100n0m600"), [["creating", 1_000], ["not_due", 1_100], ...end]);
  t.strictSame(spansOf("d@1100q400m600"), [
    ["creating", 1_000],
    ["waiting", 1_100],
    ["queued", 1_400],
    ["handed_out", 1_600],
  ]);
});

t.test("a run without an engine is queued, and waits for what is not known until it is handed out", async (t) => {
  const { kit, store } = storedKit();
  const id = createId(kit);
  kit.pass(SECOND_US);
  t.strictSame(stages(t, store, id, kit.nowUs), [
    ["creating", COMMIT_US],
    ["waiting", SECOND_US - COMMIT_US],
  ]);
  t.equal(timingOf(store, id, kit.nowUs).to, null);
  poll(kit, "e1");
  t.match(stages(t, store, id, kit.nowUs + SECOND_US), [
    ["creating", COMMIT_US],
    ["queued", SECOND_US - COMMIT_US],
    ["handed_out", COMMIT_US],
    ["starting", SECOND_US - COMMIT_US],
  ]);
});

t.test("attempts and parked waits are stages of their own", async (t) => {
  const { kit, store } = storedKit();
  const held = startDurable(kit);
  kit.pass(1_000);
  send(kit, held, [moveOf(kit, 3, "Scheduled", { name: "AwaitingRetry" })]);
  kit.pass(5 * SECOND_US);
  send(kit, held, [moveOf(kit, 4, "Running", { name: "Retrying" })]);
  arm(kit, held, [{ wait: 1, kind: "sleep", delay: 60 }]);
  kit.pass(2_000);
  send(kit, held, [parkOf(kit, 5, [1])]);
  kit.pass(70 * SECOND_US);
  const again = takeRun(kit, "e2");
  t.equal(again.id, held.id);
  kit.pass(3_000);
  end(kit, again);
  const found = stages(t, store, held.id);
  t.strictSame(
    found.filter(([stage]) => ["running", "retry", "parked", "queued"].includes(stage)),
    [
      ["running", 1_000 - COMMIT_US],
      ["retry", 5 * SECOND_US],
      ["running", 2_000],
      ["parked", 60 * SECOND_US - 2_000],
      ["queued", 10 * SECOND_US + 2_000],
      ["running", 3_000 - COMMIT_US],
    ],
  );
  t.strictSame(
    timingOf(store, held.id).stages.map(({ stage, attempt }) => `${attempt} ${stage}`),
    [
      "0 creating",
      "0 running",
      "0 retry",
      ...["running", "parked", "queued", "handed_out", "running", "publishing"].map((stage) => `1 ${stage}`),
    ],
  );
});

t.test("a run that ends at its creation, a run that is cancelled while it waits, a run that is moved back", async (t) => {
  const { kit, store } = storedKit();
  createId(kit, { options: { max_concurrent: 1, on_overlap: "skip" } });
  poll(kit, "e1");
  const skipped = createId(kit, { options: { max_concurrent: 1, on_overlap: "skip" } });
  t.strictSame(stages(t, store, skipped), [["creating", COMMIT_US]]);
  const waiting = createId(kit, { flow: "other" });
  kit.pass(SECOND_US);
  kit.send("CancelRun", { target: waiting });
  t.strictSame(stages(t, store, waiting), [
    ["creating", COMMIT_US],
    ["queued", SECOND_US - COMMIT_US],
    ["publishing", COMMIT_US],
  ]);
  kit.pass(SECOND_US);
  move(kit, waiting, "Scheduled", { force: true });
  kit.pass(SECOND_US);
  move(kit, waiting, "Cancelled", { force: true });
  t.strictSame(stages(t, store, waiting).slice(2), [
    ["publishing", COMMIT_US],
    ["ended", SECOND_US - COMMIT_US],
    ["queued", SECOND_US],
    ["publishing", COMMIT_US],
  ]);
});

t.test("a run that a person moves out of the queue no longer waits", async (t) => {
  const { kit, store } = storedKit();
  const id = createId(kit);
  kit.pass(SECOND_US);
  move(kit, id, "Running");
  kit.pass(SECOND_US);
  move(kit, id, "Completed");
  t.strictSame(stages(t, store, id), [
    ["creating", COMMIT_US],
    ["queued", SECOND_US - COMMIT_US],
    ["running", SECOND_US],
    ["publishing", COMMIT_US],
  ]);
});

t.test("a run that a person moves out of its end waits again", async (t) => {
  for (const type of ["Scheduled", "Pending", "Running", "Paused"]) {
    const { kit, store } = storedKit();
    createId(kit);
    const held = takeRun(kit);
    end(kit, held);
    kit.pass(SECOND_US);
    move(kit, held.id, type, { force: true });
    kit.pass(SECOND_US);
    const stage = { Running: "running", Paused: "paused" }[type] ?? "waiting";
    t.strictSame(stages(t, store, held.id, kit.nowUs).slice(-2), [
      ["ended", SECOND_US - COMMIT_US],
      [stage, SECOND_US],
    ]);
  }
});

t.test("a move into the state that a run has begins no stage", async (t) => {
  for (const [type, stage] of [
    ["Paused", "paused"],
    ["Running", "running"],
  ] as const) {
    const { kit, store } = storedKit();
    const id = createId(kit);
    for (let time = 0; time < 3; time += 1) {
      kit.pass(SECOND_US);
      move(kit, id, type, { force: true });
    }
    kit.pass(SECOND_US);
    t.strictSame(stages(t, store, id, kit.nowUs).at(-1), [stage, 3 * SECOND_US]);
  }
});

t.test("the marks of a run are bounded; the rest of its time is one stage", async (t) => {
  const { kit, store } = storedKit();
  const id = createId(kit);
  for (let time = 0; time < 1_000; time += 1) {
    kit.pass(SECOND_US);
    move(kit, id, time % 2 === 0 ? "Paused" : "Running", { force: true });
  }
  move(kit, id, "Completed", { force: true });
  const found = stages(t, store, id);
  t.ok(found.length < 500);
  t.strictSame(
    found.slice(-2).map(([stage]) => stage),
    ["unrecorded", "publishing"],
  );
  const [row] = store.statements.raw<[number]>("SELECT length(marks) FROM runs WHERE id = ?").all(id);
  t.ok((row?.[0] ?? 0) < 3_100);
});

t.test("names of resources with signs of the marks", async (t) => {
  const { kit, store } = storedKit();
  const name = 'a@"b";q5 \u00e4\u{1f600}';
  const options = { resources: { [name]: 1 } };
  createId(kit, { options });
  const holder = takeRun(kit);
  const id = createId(kit, { options });
  kit.pass(SECOND_US);
  end(kit, holder);
  end(kit, takeRun(kit, "e2"));
  stages(t, store, id);
  t.equal(timingOf(store, id).stages.find(({ stage }) => stage === "blocked")?.object, name);
});

t.test("a restart of the core keeps what is stored; runs from before the marks have none", async (t) => {
  const { kit, store } = storedKit();
  const id = createId(kit);
  const old = createId(kit, { flow: "old" });
  store.database.exec(`UPDATE runs SET marks = NULL WHERE id = ${old}`);
  const loaded = loadLiveState(loadStore(store.database), store.statements, SETTINGS, new Set());
  t.equal(loaded.runs.get(id)?.marksLength, kit.run(id).marksLength);
  t.equal(loaded.runs.get(old)?.marksLength, 0);
  t.strictSame(timingOf(store, old, kit.nowUs).stages, []);
  t.equal(runQuery(store.statements, "run_timing", { id: 99, now_us: 0 }), null);
});

t.test("the newest runs of a flow by stage", async (t) => {
  const { kit, store } = storedKit();
  for (const us of [1_000, 2_000, 3_000]) {
    createId(kit);
    const held = takeRun(kit, `e${us}`);
    kit.pass(us);
    end(kit, held);
  }
  kit.send("CancelRun", { target: createId(kit) });
  const timing = JSON.parse(runQuery(store.statements, "flow_timing", { id: 1 }) ?? "null") as FlowTiming;
  t.match(timing, { flow_id: 1, runs: 3, total_p50_us: 2_000 + COMMIT_US, total_p95_us: 3_000 + COMMIT_US });
  t.match(
    timing.stages.find(({ stage }) => stage === "running"),
    { runs: 3, p50_us: 2_000 - COMMIT_US, p95_us: 3_000 - COMMIT_US, sum_us: 6_000 - 3 * COMMIT_US },
  );
  t.equal(runQuery(store.statements, "flow_timing", { id: 9 }), null);
});
