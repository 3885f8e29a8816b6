import t from "tap";
import { holdsUnheardRuns } from "#actors/core/state/engine";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { create, createId, move, poll, workOf } from "../../../support/dispatch-steps.ts";
import { answerOf, begin, exchange, givenTo, heldOf, moved } from "../../../support/exchange-steps.ts";

/** Hands a run out to an engine of its own, begins it there, and reports that it ended with another run. */
function crashBesideAnother(kit: DispatchKit, run: number): void {
  const engine = `of ${run} at ${kit.nowUs}`;
  const held = heldOf(exchange(kit, engine, 1, { slots: 1 }));
  begin(kit, engine, 2, held);
  const details = { fault: "other", stopped_with: 99 };
  const state = { type: "Crashed", name: "Crashed", timestamp: kit.nowUs, message: "stopped with run 99", details };
  const reports = held.map((each) => ({ ...each, events: [{ kind: "run_transition", seq: 3, state }] }));
  exchange(kit, engine, 3, { held, slots: 0, reports });
}

t.test("an answer has as many runs as the engine has slots, in the order of the queue, each under its lease", async (t) => {
  const kit = new DispatchKit();
  const ids = [createId(kit), createId(kit), createId(kit)];
  const first = exchange(kit, "e1", 1, { slots: 2 });
  t.same(givenTo(first), ids.slice(0, 2));
  t.same(
    answerOf(first)?.runs.map(({ lease }) => lease),
    [1, 2],
  );
  t.equal(answerOf(first)?.exchange, 1);
  t.same(givenTo(exchange(kit, "e2", 1)), ids.slice(2));
});

t.test("reports of several runs are one step; their ends free slots for the runs of the same answer", async (t) => {
  const kit = new DispatchKit();
  const [a, b] = [createId(kit), createId(kit)];
  const held = heldOf(exchange(kit, "e1", 1));
  const waiting = createId(kit);
  const begun = begin(kit, "e1", 2, held);
  t.match(answerOf(begun)?.reports, [
    { run_id: a, last_seq: 2, run_state: { type: "Running" } },
    { run_id: b, last_seq: 2, run_state: { type: "Running" } },
  ]);
  const reports = held.map((each) => ({ ...each, events: moved(kit, 3, "Completed") }));
  const ended = exchange(kit, "e1", 3, { held, reports, slots: 1 });
  t.same(
    [a, b].map((id) => kit.run(id).state.type),
    ["Completed", "Completed"],
  );
  t.same(givenTo(ended), [waiting]);
  t.same(answerOf(ended)?.stop, [], "that an engine ended a run is no order to stop the run");
  const late = exchange(kit, "e1", 4, { held: [...held, ...heldOf(ended)], hold: false });
  t.match(answerOf(late)?.stop, [
    { run_id: a, reason: "gone" },
    { run_id: b, reason: "gone" },
  ]);
  t.equal(eventNames(ended).filter((name) => name === "run.completed").length, 2);
});

t.test("a refused report refuses no other, and changes nothing", async (t) => {
  const kit = new DispatchKit();
  const ids = [createId(kit), createId(kit), createId(kit)];
  const held = heldOf(exchange(kit, "e1", 1));
  const [first, second, third] = held;
  const answer = exchange(kit, "e1", 2, {
    held,
    reports: [
      { ...first, events: moved(kit, 1, "Pending", "Running") },
      { ...second, events: [{ kind: "logs", seq: 1, logs: "none" }] },
      { run_id: 4711, lease: 1, events: [] },
      { ...third, lease: 77, events: moved(kit, 1, "Pending") },
    ],
  });
  t.match(answerOf(answer)?.reports, [
    { run_id: ids[0], run_state: { type: "Running" } },
    { run_id: ids[1], status: 422, error: /reports of run 2: \[0\]|events/ },
    { run_id: 4711, status: 404 },
    { run_id: ids[2], status: 409, error: /never held run 3 under lease 77/ },
  ]);
  t.equal(kit.run(Number(ids[1])).report_seq, 0);
});

t.test("what cannot be understood is refused as a whole", async (t) => {
  const kit = new DispatchKit();
  for (const slots of [-1, 1_000_000, "many", 1.5]) {
    t.match(exchange(kit, "e1", 1, { slots }).reply, { status: 422, body: { error: /^slots: expected/ } });
  }
  const held = [{ run_id: 1, lease: 1 }];
  const twice = exchange(kit, "e1", 1, { held: [...held, ...held] });
  t.match(twice.reply, { status: 422, body: { error: "run 1 is named twice" } });
  t.match(exchange(kit, "e1", 0).reply, { status: 422 });
  exchange(kit, "e1", 5);
  t.match(exchange(kit, "e1", 4).reply, { status: 409, body: { error: "exchange 4 came after exchange 5 of this engine" } });
});

t.test("an exchange without reports is held until there is a run; a newer one ends it", async (t) => {
  const kit = new DispatchKit();
  const parked = exchange(kit, "e1", 1);
  t.equal(parked.replies.length, 0);
  const created = create(kit);
  t.same(givenTo(created, parked.command), [1]);
  const held = [{ run_id: 1, lease: 1 }];
  const next = exchange(kit, "e1", 2, { held });
  t.equal(next.replies.length, 0, "the run it holds is no reason to answer");
  const newest = exchange(kit, "e1", 3, { held });
  t.match(answerOf(newest, next.command), { exchange: 2, runs: [], exit: false });
  t.match(answerOf(exchange(kit, "e1", 4, { held, hold: false })), { runs: [], reports: [], stop: [] });
});

t.test("a run whose answer was lost is given again under its lease; one that its engine forgot crashes after 5 s", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  const held = heldOf(exchange(kit, "e1", 1));
  t.same(heldOf(exchange(kit, "e1", 2)), held, "not listed and never acknowledged");
  begin(kit, "e1", 3, held);
  exchange(kit, "e1", 4, { hold: false });
  t.equal(kit.run(1).state.type, "Running", "an answer may be under way");
  kit.pass(5_000_000);
  exchange(kit, "e1", 5, { hold: false });
  t.match(kit.run(1).state, { type: "Crashed", message: "left by its engine" });
});

t.test("when an answer cannot be delivered, all its runs wait again, unless a later answer gave them", async (t) => {
  const kit = new DispatchKit();
  const ids = [createId(kit), createId(kit), createId(kit)];
  const places = (): string[] => ids.map((id) => kit.run(id).place);
  const lost = exchange(kit, "e1", 1);
  const again = exchange(kit, "e1", 2);
  t.same(givenTo(again), ids);
  kit.notice("Undelivered", lost.command);
  t.same(places(), ["none", "none", "none"]);
  kit.notice("Undelivered", again.command);
  t.same(places(), ["ready", "ready", "ready"]);
});

t.test(
  "a run whose answer was lost is given again although a person moved it meanwhile, unless the person has begun it",
  async (t) => {
    for (const [state, again] of [
      [{ type: "Scheduled", name: "Checked" }, true],
      [{ type: "Pending" }, false],
    ] as const) {
      const kit = new DispatchKit();
      const id = createId(kit);
      t.same(givenTo(exchange(kit, "e1", 1)), [id]);
      t.equal(move(kit, id, state.type, state).reply?.status, 200);
      t.same(givenTo(exchange(kit, "e1", 2)), again ? [id] : []);
    }
  },
);

t.test("a waiting engine is notified at once of a cancel and of a run it has lost", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  createId(kit);
  const held = heldOf(exchange(kit, "e1", 1));
  begin(kit, "e1", 2, held);
  const waits = exchange(kit, "e1", 3, { held });
  const cancelled = kit.send("CancelRun", { target: 1 });
  t.same(answerOf(cancelled, waits.command)?.stop, [{ run_id: 1, lease: 1, reason: "cancel" }]);
  t.match(answerOf(exchange(kit, "e1", 4, { held }))?.stop, [{ run_id: 1, reason: "cancel" }], "as long as it lists the run");
  const other = exchange(kit, "e1", 5, { held: held.slice(1) });
  const ended = kit.send("TransitionRun", { target: 2, body: { type: "Failed", force: true } });
  t.same(answerOf(ended, other.command)?.stop, [{ run_id: 2, lease: 2, reason: "gone" }]);
});

t.test("a run handed back waits again, and no attempt is counted", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  const [held] = heldOf(exchange(kit, "e1", 1));
  const back = exchange(kit, "e1", 2, { slots: 0, reports: [{ ...held, events: [], returned: true }] });
  t.match(answerOf(back)?.reports, [{ run_id: 1, last_seq: 0 }]);
  t.match(kit.run(1), { assigned: false, attempt: 0, crash_count: 0, place: "ready" });
  t.same(givenTo(exchange(kit, "e2", 1)), [1]);
});

t.test("runs spread over idle engines before they share one", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  const held = heldOf(exchange(kit, "e1", 1, { slots: 1 }));
  const busy = exchange(kit, "e1", 2, { held });
  const idle = exchange(kit, "e2", 1);
  t.same(givenTo(create(kit), idle.command), [2], "the idle engine comes first, although the other has waited longer");
  t.same(givenTo(create(kit), busy.command), [3]);
});

t.test("an exclusive run has its engine for itself, and so has one that must not be repeated after a crash", async (t) => {
  for (const options of [{ exclusive: true }, { crash_retries: 0 }]) {
    const kit = new DispatchKit();
    const alone = createId(kit, { options });
    const shared = createId(kit, { flow: "other" });
    const held = heldOf(exchange(kit, "e1", 1));
    t.same(
      held.map(({ run_id }) => run_id),
      [alone],
    );
    t.same(givenTo(exchange(kit, "e1", 2, { held, hold: false })), []);
    t.same(givenTo(exchange(kit, "e2", 1)), [shared]);
    const second = createId(kit, { options });
    t.same(givenTo(exchange(kit, "e2", 2, { held: [{ run_id: shared, lease: 2 }], hold: false })), []);
    t.equal(workOf(poll(kit, "e3"))?.["run_id"], second, "an engine that polls takes one run at a time anyway");
  }
  const kit = new DispatchKit();
  createId(kit, { options: { crash_retries: 0, exclusive: false } });
  createId(kit);
  t.equal(givenTo(exchange(kit, "e1", 1)).length, 2, "a flow may share its engine all the same");
});

t.test("an exclusive run is alone in its engine also when the step that hands it out has created it", async (t) => {
  const kit = new DispatchKit();
  const options = { after: { flow: "job", flows: ["job"] }, exclusive: true, priority: 5 };
  kit.send("CancelRun", { target: createId(kit, { flow: "downstream", options }) });
  const upstream = createId(kit);
  const held = heldOf(exchange(kit, "e1", 1));
  begin(kit, "e1", 2, held);
  const shared = createId(kit, { flow: "other" });
  const ended = exchange(kit, "e1", 3, { held, reports: [{ ...held[0], events: moved(kit, 3, "Completed") }] });
  t.equal(kit.run(upstream).state.type, "Completed");
  t.same(givenTo(ended), [shared + 1]);
  t.match(kit.run(shared + 1).flow, { name: "downstream" });
  t.equal(kit.run(shared).place, "ready");
});

t.test("flows whose runs are never repeated run alone, also when only the server's default says so", async (t) => {
  const kit = new DispatchKit({ settings: { crashRetriesDefault: 0 } });
  const [first, second] = [createId(kit), createId(kit)];
  t.same(givenTo(exchange(kit, "e1", 1)), [first]);
  const repeated = [createId(kit, { flow: "other", options: { crash_retries: 1 } }), createId(kit, { flow: "other" })];
  kit.send("CancelRun", { target: second });
  t.same(givenTo(exchange(kit, "e2", 1)), repeated);
  const waiting = [createId(kit), createId(kit)];
  kit.send("PatchSettings", { body: { crash_retries: 1 } });
  t.same(givenTo(exchange(kit, "e3", 1)), waiting, "runs that wait follow a change of the default");
  const again = [createId(kit), createId(kit)];
  kit.send("PatchSettings", { body: { crash_retries: 0 } });
  t.same(givenTo(exchange(kit, "e4", 1)), again.slice(0, 1));
});

t.test("an engine that leaves gets no further run, and leaves once its runs have ended", async (t) => {
  const kit = new DispatchKit({ settings: { engineRunsMax: 1 } });
  createId(kit);
  createId(kit);
  const held = heldOf(exchange(kit, "e1", 1, { slots: 2 }));
  begin(kit, "e1", 2, held);
  createId(kit);
  const [first, second] = held;
  const one = exchange(kit, "e1", 3, { held, reports: [{ ...first, events: moved(kit, 3, "Completed") }] });
  t.match(answerOf(one), { exit: false, runs: [] });
  const two = exchange(kit, "e1", 4, { held: [second], reports: [{ ...second, events: moved(kit, 3, "Completed") }] });
  t.match(answerOf(two), { exit: true, runs: [] });
});

t.test(
  "an engine that ends: runs that were not begun wait again, one that was begun crashes, several are not counted",
  async (t) => {
    const kit = new DispatchKit();
    for (let n = 0; n < 3; n += 1) createId(kit);
    const held = heldOf(exchange(kit, "e1", 1));
    begin(kit, "e1", 2, held.slice(0, 2));
    kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed", details: {} });
    t.match(kit.run(3), { place: "ready", crash_count: 0 });
    for (const id of [1, 2])
      t.match(kit.run(id).state, { type: "Crashed", message: "killed", details: { fault: "unknown", uncounted: true } });
    kit.pass(20_000_000);
    t.match(
      [kit.run(4), kit.run(5)],
      [
        { reruns: 0, alone: true, created_by: "crash:1" },
        { reruns: 0, alone: true, created_by: "crash:2" },
      ],
    );
  },
);

t.test("the next crash counts also when the run that was not counted has been deleted or moved by hand", async (t) => {
  for (const change of ["deleted", "forced"]) {
    const kit = new DispatchKit({ settings: { crashRetriesDefault: 1, rerunDelaySeconds: [1, 1] } });
    createId(kit);
    crashBesideAnother(kit, 1);
    t.match(kit.run(1), { state: { type: "Crashed", details: { uncounted: true } }, uncounted: true });
    if (change === "deleted") {
      kit.pass(1_000_000);
      kit.send("DeleteRun", { target: 1 });
    } else kit.send("TransitionRun", { target: 1, body: { type: "Scheduled", force: true } });
    kit.pass(1_000_000);
    const next = change === "deleted" ? 2 : 1;
    t.match(kit.run(next), { reruns: 0, uncounted: true, place: "ready" }, change);
    crashBesideAnother(kit, next);
    t.match(kit.run(next).state, { type: "Crashed", details: { uncounted: undefined } }, change);
    kit.pass(1_000_000);
    t.equal(kit.run(next + 1).reruns, 1);
  }
});

t.test("one crash in a line of reruns is not counted; a flow without reruns is never run twice", async (t) => {
  const kit = new DispatchKit({ settings: { crashRetriesDefault: 1 } });
  const neighbour = { fault: "other", stopped_with: 99 };
  const crash = (run: number, lease: number, number: number) => {
    const held = [{ run_id: run, lease }];
    begin(kit, "e1", number, held);
    const state = { type: "Crashed", name: "Crashed", timestamp: kit.nowUs, message: "stopped with run 99", details: neighbour };
    return exchange(kit, "e1", number + 1, {
      held,
      slots: 0,
      reports: [{ ...held[0], events: [{ kind: "run_transition", seq: 3, state }] }],
    });
  };
  createId(kit);
  exchange(kit, "e1", 1, { slots: 1 });
  crash(1, 1, 2);
  t.match(kit.run(1).state, { type: "Crashed", details: { uncounted: true } });
  kit.pass(20_000_000);
  t.match(kit.run(2), { reruns: 0, alone: false });
  exchange(kit, "e1", 4, { slots: 1 });
  crash(2, 2, 5);
  t.match(kit.run(2).state, { type: "Crashed", details: { uncounted: undefined } }, "the second one counts");
  kit.pass(20_000_000);
  t.equal(kit.run(3).reruns, 1);
  exchange(kit, "e1", 7, { slots: 1 });
  crash(3, 3, 8);
  t.match(kit.run(3).state, { type: "Failed", message: /crash limit reached/ });

  const never = createId(kit, { flow: "once", options: { crash_retries: 0 } });
  exchange(kit, "e1", 10, { slots: 1 });
  crash(never, 4, 11);
  t.match(kit.run(never).state, { type: "Failed", message: /crash limit reached/ });
  t.equal(operations(crash(never, 4, 13), "put_rerun").length, 0);
});

t.test("after a restart, an engine that holds runs is unheard until its first exchange", async (t) => {
  const kit = new DispatchKit();
  createId(kit);
  const held = heldOf(exchange(kit, "busy", 1));
  begin(kit, "busy", 2, held);
  exchange(kit, "idle", 1);
  const unheard = (): string[] => [...kit.state.engines.values()].filter(holdsUnheardRuns).map(({ id }) => id);
  t.same(unheard(), []);
  kit.reloadEngines();
  t.same(unheard(), ["busy"]);
  exchange(kit, "busy", 3, { held });
  t.same(unheard(), []);
});
