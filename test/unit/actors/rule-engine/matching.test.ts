import t from "tap";
import type { Rule } from "#actors/core/state/rule";
import { RuleIndex } from "#actors/rule-engine/reactions/matching";
import type { RuleMatch } from "#protocol/records/rule";
import { completeSpec } from "#protocol/records/rule-spec";
import type { SeenEvent } from "#storage/load/load-events";
import { matches } from "#storage/read/event-match";

function rule(id: number, when: RuleMatch): Rule {
  const checked = completeSpec({ when, do: [{ kind: "cancel_run" }] }, () => null);
  if (!checked.ok) throw new Error(checked.error);
  const times = { since_event: 0, since_time: 0, created_at: 0, updated_at: 0, fire_count: 0, last_fired: null };
  const identity = { id, external_id: "", name: `rule ${id}`, enabled: true, source: "ui", module: null } as const;
  return { ...identity, ...times, spec: checked.spec, length: 0, guards: { seconds: [] } };
}

function event(fields: Partial<SeenEvent>): SeenEvent {
  return {
    ...{ id: 1, name: "run.failed", occurred: 0, run_id: 1, flow_id: 1, flow: "f", project: "p", tags: ["eu"] },
    ...{ states: ["failed", "timedout"], created_by: null, depth: 0, payload: {}, record: () => "{}" },
    ...fields,
  };
}

t.test("a rule is found by every clause it sets, and the index agrees with the plain reading", async (t) => {
  const clauses: RuleMatch[] = [
    {},
    { events: ["run.failed"] },
    { events: ["run.*", "run.f*"] },
    { events: ["*"] },
    { events: ["run.completed"] },
    { flows: ["f", "g"] },
    { flows: ["other"] },
    { project: "p" },
    { project: "q" },
    { states: ["Failed"] },
    { states: ["TimedOut"] },
    { states: ["Completed"] },
    { tags: ["eu", "us"] },
    { tags: ["us"] },
    { events: ["run.*"], flows: ["f"], project: "p", states: ["Failed"], tags: ["eu"] },
  ];
  const rules = clauses.map((when, index) => rule(index + 1, when));
  const index = new RuleIndex(rules);
  for (const seen of [
    event({}),
    event({ name: "kit.a", flow: null, project: null, states: [], tags: [] }),
    event({ flow: "g" }),
  ]) {
    const expected = rules.filter(({ spec }) => matches(spec.when, seen)).map(({ id }) => id);
    t.same(
      index.firedBy(seen).map(({ id }) => id),
      expected,
      seen.name,
    );
    t.ok(expected.length > 0);
  }
});

t.test("names with line breaks match only the clauses that name them", async (t) => {
  const flow = { events: ["a"], flows: ["b\nc"], project: "d" };
  const project = { events: ["a"], flows: ["b"], project: "c\nd" };
  const index = new RuleIndex([rule(1, flow), rule(2, project), rule(3, { events: ["a"], project: "b\nc\nd" })]);
  const found = (fields: Partial<SeenEvent>) => index.firedBy(event({ name: "a", ...fields })).map(({ id }) => id);
  t.same(found({ flow: "b\nc", project: "d" }), [1]);
  t.same(found({ flow: "b", project: "c\nd" }), [2]);
  t.same(found({ flow: null, project: "b\nc\nd" }), [3]);
  t.same(found({ flow: "", project: "b\nc\nd" }), [3]);
});

t.test("10,000 rules cost an event no more than the few that can match", async (t) => {
  const rules = Array.from({ length: 10_000 }, (_, id) => rule(id + 1, { events: ["run.failed"], flows: [`flow-${id}`] }));
  const index = new RuleIndex(rules);
  const seen = event({ flow: "flow-77" });
  const start = performance.now();
  for (let round = 0; round < 10_000; round += 1) index.firedBy(seen);
  const eachUs = ((performance.now() - start) * 1000) / 10_000;
  t.same(
    index.firedBy(seen).map(({ id }) => id),
    [78],
  );
  // About 5 us are usual; checking every rule would take a thousand.
  t.ok(eachUs < 200, `${eachUs} us per event`);
});

t.test("what is wrong with a rule is said with the nearest real name", async (t) => {
  const noop = [{ kind: "cancel_run" as const }];
  const errorOf = (said: Parameters<typeof completeSpec>[0]): string => {
    const checked = completeSpec(said, () => "bad clock");
    return checked.ok ? "accepted" : checked.error;
  };
  t.equal(errorOf({ when: {}, do: [] }), "a rule needs at least one action");
  t.equal(errorOf({ do: [{ kind: "run_flow" }] }), "action 0: run_flow needs a flow");
  t.equal(errorOf({ do: [...noop, { kind: "webhook" }] }), "action 1: webhook needs a url");
  t.match(errorOf({ do: noop, when: { states: ["failed"] } }), /when: unknown state "failed"; did you mean "Failed"\?/);
  t.match(errorOf({ do: noop, when: { events: ["run.faild"] } }), /did you mean "run.failed"/);
  t.match(errorOf({ do: noop, unless: { events: ["a"] } }), /unless needs within or at/);
  t.match(errorOf({ do: noop, within: 0 }), /within must be positive/);
  t.match(errorOf({ do: noop, unless: { events: ["a"] }, at: { cron: "x" } }), /^at: bad clock$/);
  t.equal(errorOf({ do: noop, when: { events: ["b"] }, unless: { events: ["a"] }, within: 3 }), "accepted");
});
