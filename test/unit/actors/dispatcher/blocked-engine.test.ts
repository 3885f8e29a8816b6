/** An engine whose thread is held by code says so: an event, and an explanation for the runs in it. */
import t from "tap";
import type { Queue, RunExplanation } from "#protocol/records/queue";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, type Outcome } from "../../../support/dispatch-kit.ts";
import { createId, MODULE, SOURCE_DIR } from "../../../support/dispatch-steps.ts";

interface Held {
  run_id: number;
  lease: number;
}

function exchange(kit: DispatchKit, number: number, wish: Record<string, unknown> = {}): Outcome {
  const identity = { engine_id: "e1", pid: 1000, source_dir: SOURCE_DIR, module: MODULE };
  return kit.send("Exchange", { body: { ...identity, exchange: number, slots: 0, held: [], reports: [], hold: false, ...wish } });
}

/** An engine that executes runs. */
function executing(kit: DispatchKit, count: number): Held[] {
  for (let made = 0; made < count; made += 1) createId(kit);
  const given = exchange(kit, 1, { slots: count }).reply?.body as { runs: Held[] } | undefined;
  const held = (given?.runs ?? []).map(({ run_id, lease }) => ({ run_id, lease }));
  const state = (type: string, seq: number) => ({
    kind: "run_transition",
    seq,
    state: { type, name: type, timestamp: kit.nowUs, message: null, details: {} },
  });
  exchange(kit, 2, { held, reports: held.map((each) => ({ ...each, events: [state("Pending", 1), state("Running", 2)] })) });
  return held;
}

const eventsOf = (outcome: Outcome) => operations(outcome, "insert_event").filter(({ name }) => name === "engine.blocked");

const blockOf = (kit: DispatchKit, run: number): RunExplanation["blocked"] | undefined =>
  (kit.send("ExplainRun", { target: run }).reply?.body as RunExplanation | undefined)?.blocked;

const blockedSince = (kit: DispatchKit): number | null | undefined =>
  (kit.send("GetQueue").reply?.body as Queue | undefined)?.engines[0]?.blocked_since;

t.test("the beginning of a block is an event with the runs; the runs say it as long as it lasts", async (t) => {
  const kit = new DispatchKit();
  const held = executing(kit, 2);
  const ids = held.map(({ run_id }) => run_id);
  t.equal(blockOf(kit, Number(ids[0])), null);
  t.equal(blockedSince(kit), null);
  const [event, ...more] = eventsOf(exchange(kit, 3, { held, blocked_secs: 1.5 }));
  t.equal(more.length, 0);
  t.same(JSON.parse(String(event?.["resource"])), { kind: "engine", id: "e1", name: MODULE });
  t.same(JSON.parse(String(event?.["payload"])), { engine: "e1", module: MODULE, seconds: 1.5, runs: ids });
  t.match(JSON.parse(String(event?.["related"])), [{ kind: "run" }, { kind: "flow" }, { kind: "run" }, { kind: "flow" }]);
  t.same(eventsOf(exchange(kit, 4, { held, blocked_secs: 3 })), [], "it still lasts");
  for (const id of ids) {
    t.match(blockOf(kit, id), {
      engine_id: "e1",
      since: kit.nowUs - 3_000_000,
      text: "code of one of the 2 runs in engine e1 holds its thread, and the others wait",
      run_ids: ids,
    });
  }
  t.equal(blockedSince(kit), kit.nowUs - 3_000_000, "the queue says it of the engine");
  exchange(kit, 5, { held });
  t.equal(blockedSince(kit), null);
  t.equal(blockOf(kit, Number(ids[0])), null);
});

t.test("blocks of one engine are events at most once a minute", async (t) => {
  const kit = new DispatchKit();
  const held = executing(kit, 1);
  t.equal(eventsOf(exchange(kit, 3, { held, blocked_secs: 1 })).length, 1);
  exchange(kit, 4, { held });
  kit.pass(30_000_000);
  t.equal(eventsOf(exchange(kit, 5, { held, blocked_secs: 1 })).length, 0);
  t.match(blockOf(kit, Number(held[0]?.run_id)), { text: /^its code holds the thread of engine e1/ });
  exchange(kit, 6, { held });
  kit.pass(31_000_000);
  t.equal(eventsOf(exchange(kit, 7, { held, blocked_secs: 1 })).length, 1);
});

t.test("a time that is no time is refused", async (t) => {
  const kit = new DispatchKit();
  for (const blocked_secs of [-1, "long"])
    t.match(exchange(kit, 1, { blocked_secs }).reply, { status: 422, body: { error: /^blocked_secs/ } });
});
