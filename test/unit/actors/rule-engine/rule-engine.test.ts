/** The rule engine and the timer of clocks and deadlines: what they pass on, and that stale messages have no effect. */
import t from "tap";
import { ExpectationTimer } from "#actors/expectation-timer/expectation-timer";
import { Quarantine } from "#actors/rule-engine/reactions/quarantine";
import { RuleEngine } from "#actors/rule-engine/rule-engine";
import type { React, Reaction } from "#actors/rule-engine/rule-messages";
import type { RuleBody } from "#protocol/records/rule";
import type { Primitive } from "#protocol/wire/feed";
import { Outbox } from "#runtime/effect";
import { putOperation } from "#storage/write/ops";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId } from "../../../support/dispatch-steps.ts";
import { eventRow, openStore, request } from "../../../support/storage-rows.ts";

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
const NOOP = [{ kind: "cancel_run" as const }];
const CLOCK: RuleBody = { name: "clock", unless: { events: ["a.b"] }, at: { cron: "* * * * *" }, within: 5, do: NOOP };

function kitWith(body: RuleBody): DispatchKit {
  const kit = new DispatchKit();
  const { reply } = kit.send("CreateRule", { body });
  if (reply?.status !== 201) throw new Error(JSON.stringify(reply));
  return kit;
}

function effectsOf(step: (out: Outbox) => void): Outbox["effects"] {
  const out = new Outbox();
  step(out);
  return out.effects;
}

/** A rule engine with a store of `count` events of this name. */
function engineOver(kit: DispatchKit, count: number, name: string, payload: object = {}) {
  const { writer, statements } = openStore();
  const ops: Primitive[] = [];
  for (let index = 0; index < count; index += 1) {
    const resource = JSON.stringify({ id: "", kind: "custom", name });
    const row = eventRow(name, START_US, { resource, related: "[]", payload: JSON.stringify(payload) });
    putOperation(ops, "insert_event", row);
  }
  writer.commit(request(writer, 1, { ops }));
  kit.state.rules.nextIds.event += count;
  let tickets = 0;
  const engine = new RuleEngine({
    state: () => kit.state,
    statements: () => statements,
    epoch: () => kit.epoch,
    nextTicket: () => {
      tickets += 1;
      return tickets;
    },
    quarantine: new Quarantine(),
  });
  const tell = (message: Parameters<RuleEngine["receive"]>[0]): React[] =>
    effectsOf((out) => engine.receive(message, out)).flatMap((effect) =>
      effect.kind === "Send" ? [effect.message as React] : [],
    );
  return tell;
}

t.test("a clock that found something missing makes its rule act, also where no other rule watches", async (t) => {
  const kit = kitWith(CLOCK);
  const tell = engineOver(kit, 1, "expectation.lapsed", { rule_id: 1, expectation_id: null });
  t.match(tell({ kind: "Wake" }), [{ kind: "React", from: 0, to: 1, reactions: [{ kind: "fire", rule_id: 1 }] }]);
});

t.test("a disabled clock is nothing to look for", async (t) => {
  const kit = kitWith({ ...CLOCK, enabled: false });
  t.same(engineOver(kit, 1, "expectation.lapsed", { rule_id: 1 })({ kind: "Wake" }), []);
});

t.test("without rules, the cursor passes events by the thousand, once the step that decided them is committed", async (t) => {
  const kit = new DispatchKit();
  const tell = engineOver(kit, 0, "a.b");
  const { rules } = kit.state;
  let committed = 6;
  kit.state.committedTurn = () => committed;
  rules.takeEvents(7, 999);
  t.same(tell({ kind: "Wake" }), [], "too few");
  rules.takeEvents(8);
  t.same(tell({ kind: "Wake" }), [], "not committed");
  rules.takeEvents(9, 500);
  committed = 8;
  t.match(tell({ kind: "Wake" }), [{ kind: "React", from: 0, to: 1000, reactions: [] }], "no further than what is committed");
  rules.cursor = 1000;
  committed = 9;
  t.same(tell({ kind: "Reacted", from: 0 }), [], "the five hundred after them wait for more");
  t.same(tell({ kind: "DeadlinePassed", due: 1 }), [{ kind: "React", core: kit.epoch, from: 1000, to: 1500, reactions: [] }]);
  rules.cursor = 1500;
  t.match(tell({ kind: "Reacted", from: 1000 }), [{ kind: "Lapse", due: 1 }], "a deadline comes after all earlier events");
});

t.test("only the word about the step under way ends it: a stale one hands nothing over twice", async (t) => {
  const kit = kitWith({ name: "each", once: "never", when: { events: ["a.b"] }, do: NOOP });
  const { rules } = kit.state;
  rules.cursor = 2;
  const tell = engineOver(kit, 4, "a.b");
  t.match(tell({ kind: "Wake" }), [{ from: 2, to: 4, reactions: [{}, {}] }]);
  t.same(tell({ kind: "Reacted", from: 0 }), [], "from before the core restarted");
  t.same(tell({ kind: "Wake" }), [], "the step is still under way");
  t.match(tell({ kind: "Reacted", from: 2 }), [{ from: 2, to: 4 }], "it was dropped, so it comes again");
  rules.cursor = 4;
  t.same(tell({ kind: "Reacted", from: 2 }), []);
});

t.test("a step says where it began, although the cursor may have moved while a reader was asked", async (t) => {
  const kit = kitWith({ name: "r", when: {}, do: [{ kind: "webhook", url: "http://127.0.0.1/", body: "{{ event.name }}" }] });
  const tell = engineOver(kit, 1, "a.b");
  const [asked] = tell({ kind: "Wake" }) as unknown as { kind: string; ticket: number }[];
  t.match(asked, { kind: "ReadRequest", ticket: 1 });
  kit.state.rules.cursor = 1;
  const text = JSON.stringify([{ action: { kind: "webhook", url: "http://127.0.0.1/", body: "a.b" } }]);
  t.match(tell({ kind: "ReadDone", ticket: 1, result: { text } }), [{ kind: "React", from: 0, to: 1 }]);
});

t.test("the dispatcher says which step it has applied or dropped", async (t) => {
  const kit = kitWith({ name: "each", once: "never", do: NOOP });
  kit.send("EmitEvent", { body: { name: "a.b" } });
  const react: React = { kind: "React", core: kit.epoch, from: 0, to: 1, reactions: [] };
  for (const core of [kit.epoch, kit.epoch - 1]) t.same(kit.tell({ ...react, core }).toRules, [{ kind: "Reacted", from: 0 }]);
});

t.test("an event that is passed is held to the guards of its rules as well", async (t) => {
  const kit = kitWith({ name: "once", when: { events: ["a.b"] }, do: NOOP });
  const run_id = createId(kit);
  const react = (event: number): React => {
    const trigger = { event_id: event, name: "a.b", run_id, flow_id: 1, project: null, depth: 0 };
    const reactions: Reaction[] = [
      { kind: "pass", event_id: event, error: "boom" },
      { kind: "skip", rule_id: 1, trigger, error: "boom" },
    ];
    const from = kit.state.rules.cursor;
    return { kind: "React", core: kit.epoch, from, to: event, reactions };
  };
  const first = kit.tell(react(1));
  t.same(eventNames(first), ["rule.fired", "rule.action.failed"]);
  t.match(operations(first, "insert_quarantine"), [{ actor: "rule-engine", subject: "event 1", error: "boom" }]);
  const second = kit.tell(react(2));
  t.same(eventNames(second), [], "it has fired for this run");
  t.equal(operations(second, "insert_quarantine").length, 1, "that it was passed is noted all the same");
});

t.test("a clock ticks on when the wall clock goes forward and comes back", async (t) => {
  const kit = kitWith(CLOCK);
  const due = (START_US / MINUTE_US + 1) * MINUTE_US;
  const ports = { nowUs: () => kit.nowUs, book: () => kit.state.rules, startedAtUs: () => START_US, isEngineSilent: () => false };
  const armedTo = (effects: Outbox["effects"]): unknown => effects.find(({ kind }) => kind === "SetTimer");
  let timer: ExpectationTimer | null = null;
  const made = effectsOf((out) => {
    timer = new ExpectationTimer(ports, out);
  });
  const tell = (kind: "Rearm" | "Due"): Outbox["effects"] => effectsOf((out) => timer?.receive({ kind }, out));
  t.match(armedTo(made), { dueUs: due });
  kit.nowUs += HOUR_US;
  t.match(armedTo(tell("Rearm")), { dueUs: kit.nowUs }, "what was missed is left out");
  kit.nowUs -= HOUR_US;
  t.match(armedTo(tell("Rearm")), { dueUs: due });
  kit.nowUs = due;
  t.match(tell("Due")[0], { kind: "Send", message: { kind: "ClockTick", rule_id: 1, due } });
});

t.test("a clock ticks on when the server was started while the wall clock was ahead", async (t) => {
  const kit = kitWith(CLOCK);
  let startedUs = START_US + HOUR_US;
  const ports = {
    nowUs: () => kit.nowUs,
    book: () => kit.state.rules,
    startedAtUs: () => startedUs,
    isEngineSilent: () => false,
  };
  const armed = (effects: Outbox["effects"]): unknown => effects.find(({ kind }) => kind === "SetTimer");
  let timer: ExpectationTimer | null = null;
  kit.nowUs += HOUR_US;
  effectsOf((out) => {
    timer = new ExpectationTimer(ports, out);
  });
  kit.nowUs -= HOUR_US;
  startedUs -= HOUR_US;
  const due = (START_US / MINUTE_US + 1) * MINUTE_US;
  t.match(armed(effectsOf((out) => timer?.receive({ kind: "Rearm" }, out))), { dueUs: due });
});

t.test("after a start, lapses wait for the reports of silent engines, and not for longer than those take", async (t) => {
  const kit = new DispatchKit();
  const row = { id: 1, rule_id: 1, key: "run:1", run_id: 1, flow_id: 1, status: "open" as const, armed_at: START_US - 9 };
  kit.state.rules.expectations.add({ ...row, deadline: START_US - 1 });
  let isEngineSilent = true;
  const ports = {
    nowUs: () => kit.nowUs,
    book: () => kit.state.rules,
    startedAtUs: () => START_US,
    isEngineSilent: () => isEngineSilent,
  };
  const timer = (): ExpectationTimer => new ExpectationTimer(ports, new Outbox());
  const fired = (on: ExpectationTimer): Outbox["effects"] => effectsOf((out) => on.receive({ kind: "Due" }, out));
  const lapses = [{ kind: "Send", message: { kind: "DeadlinePassed" } }, { kind: "SetTimer" }];
  kit.nowUs = START_US + 1_000_000;
  t.match(fired(timer()), [{ kind: "SetTimer", dueUs: kit.nowUs + 100_000 }]);
  isEngineSilent = false;
  t.match(fired(timer()), lapses);
  isEngineSilent = true;
  // An engine looks for its server every five seconds.
  kit.nowUs = START_US + 9_000_000;
  t.match(fired(timer()), [{ kind: "SetTimer", dueUs: kit.nowUs + 100_000 }]);
  kit.nowUs = START_US + 10_000_000;
  t.match(fired(timer()), lapses);
});
