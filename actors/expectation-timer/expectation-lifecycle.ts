/** The lifecycle of expectations: armed, then met, lapsed or cancelled; and the ticks of clock-armed rules. */
import { EXPECTATIONS_OPEN_MAX } from "#protocol/limits";
import type { ExpectationRow } from "#storage/load/load-rules";
import type { Rule } from "../core/state/rule.ts";
import type { Turn } from "../core/turn.ts";
import { EXPECTATION_TIMER, RULE_ENGINE } from "../names.ts";
import { type Quarantine, runGuarded } from "../rule-engine/reactions/quarantine.ts";
import type { Reaction, TickDone } from "../rule-engine/rule-messages.ts";
import { actionFailed, ruleEvent } from "../rule-engine/rules/rule-events.ts";

const SECOND_US = 1e6;
/** Maximum of expectations that lapse in one decision. */
const LAPSES_MAX = 200;

export function arm(turn: Turn, rule: Rule, wanted: Reaction & { kind: "arm" }): void {
  const { expectations } = turn.state.rules;
  const { rule_id, key, run_id, flow_id, occurred } = wanted;
  const { within } = rule.spec;
  if (!rule.enabled || within === null || expectations.find(rule_id, key) !== undefined) return;
  if (expectations.size >= EXPECTATIONS_OPEN_MAX)
    return actionFailed(turn, rule, wanted, `${EXPECTATIONS_OPEN_MAX} expectations are open, the most that may be`);
  const id = turn.state.rules.take("expectation");
  const deadline = occurred + Math.round(within * SECOND_US);
  const expectation: ExpectationRow = { id, rule_id, key, armed_at: occurred, deadline, flow_id, run_id };
  expectations.add(expectation);
  store(turn, expectation, "open");
  ruleEvent(turn, "expectation.armed", rule, expectation, { id, rule_id, key, run_id, deadline });
  turn.stream.add("expectation.armed", id);
  turn.out.send(EXPECTATION_TIMER, { kind: "Rearm" });
}

export function meet(turn: Turn, rule: Rule, { key, occurred }: Reaction & { kind: "meet" }): void {
  const expectation = turn.state.rules.expectations.find(rule.id, key);
  if (expectation === undefined || occurred > expectation.deadline || occurred < expectation.armed_at) return;
  end(turn, expectation, "met");
  ruleEvent(turn, "expectation.met", rule, expectation, { id: expectation.id, rule_id: rule.id, key });
  turn.stream.add("expectation.met", expectation.id);
}

/** Lapses open expectations due by `dueUs`. The event of each lapse fires its rule like any event. */
export function lapse(turn: Turn, dueUs: number, quarantine: Quarantine): void {
  const { expectations, rules } = turn.state.rules;
  let lapsed = 0;
  for (let next = expectations.first(); next !== undefined && next.deadline <= dueUs; next = expectations.first()) {
    const expectation = next;
    const rule = rules.get(expectation.rule_id);
    const fails = (error: string): void => {
      end(turn, expectation, "cancelled");
      if (rule !== undefined) actionFailed(turn, rule, expectation, error);
    };
    runGuarded(turn, quarantine, `expectation ${expectation.id}`, () => lapseOne(turn, rule, expectation), fails);
    lapsed += 1;
    if (lapsed < LAPSES_MAX) continue;
    turn.out.send(RULE_ENGINE, { kind: "DeadlinePassed", due: dueUs });
    break;
  }
  turn.out.send(EXPECTATION_TIMER, { kind: "Rearm" });
}

function lapseOne(turn: Turn, rule: Rule | undefined, expectation: ExpectationRow): void {
  end(turn, expectation, rule === undefined ? "cancelled" : "lapsed");
  if (rule === undefined) return;
  const run = expectation.run_id === null ? undefined : turn.state.findRun(expectation.run_id);
  const flow = run?.flow ?? (expectation.flow_id === null ? undefined : turn.state.flows.get(expectation.flow_id));
  const event = ruleEvent(turn, "expectation.lapsed", rule, expectation, {
    rule_id: rule.id,
    rule: rule.name,
    flow: flow?.name ?? null,
    project: flow?.project ?? null,
    run: run?.id ?? null,
    run_name: run === undefined ? null : turn.state.textsOf(run).name,
    expected: rule.spec.unless?.events ?? [],
    deadline: expectation.deadline,
    armed_at: expectation.armed_at,
    expectation_id: expectation.id,
  });
  turn.stream.add("expectation.lapsed", event);
}

/** Decides a tick of a rule's clock; repeated messages are ignored. */
export function tickDone(turn: Turn, { rule_id, due, outcome }: TickDone, quarantine: Quarantine): void {
  const rule = turn.state.rules.rules.get(rule_id);
  if (rule === undefined || !rule.enabled || rule.spec.at === null || due <= (rule.guards.tick ?? 0)) return;
  const fails = (error: string): void => actionFailed(turn, rule, NO_SUBJECT, error);
  runGuarded(
    turn,
    quarantine,
    `tick ${due} of rule ${rule.id}`,
    () => {
      if (typeof outcome === "object") fails(outcome.error);
      else if (outcome === "lapsed") lapseTick(turn, rule, due);
    },
    fails,
  );
  rule.guards.tick = due;
  turn.rows.put("put_guards", { rule_id: rule.id, state: JSON.stringify(rule.guards) });
  turn.out.send(EXPECTATION_TIMER, { kind: "Rearm" });
}

const NO_SUBJECT = { run_id: null, flow_id: null };

function lapseTick(turn: Turn, rule: Rule, due: number): void {
  const facts = { flow: null, project: rule.spec.unless?.project ?? null, run: null, run_name: null };
  const event = ruleEvent(turn, "expectation.lapsed", rule, NO_SUBJECT, {
    ...{ rule_id: rule.id, rule: rule.name, ...facts, expected: rule.spec.unless?.events ?? [] },
    ...{ deadline: due, armed_at: null, expectation_id: null },
  });
  turn.stream.add("expectation.lapsed", event);
}

/** Cancels the open expectations of a rule. */
export function cancelExpectations(turn: Turn, ruleId: number): void {
  for (const expectation of [...turn.state.rules.expectations.values()])
    if (expectation.rule_id === ruleId) end(turn, expectation, "cancelled");
}

function end(turn: Turn, expectation: ExpectationRow, status: "met" | "lapsed" | "cancelled"): void {
  turn.state.rules.expectations.end(expectation);
  store(turn, expectation, status);
}

function store(turn: Turn, expectation: ExpectationRow, status: "open" | "met" | "lapsed" | "cancelled"): void {
  const { id, rule_id, key, armed_at, deadline, flow_id, run_id } = expectation;
  turn.rows.put("put_expectation", { id, rule_id, key, status, armed_at, deadline, flow_id, run_id });
}
