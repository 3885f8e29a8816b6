/** Events about rules: the resource is the rule; related are the run and the flow of the triggering event. */
import type { EventName } from "#protocol/vocabulary";
import { flowKey } from "../../core/state/flow.ts";
import type { Rule } from "../../core/state/rule.ts";
import type { Turn } from "../../core/turn.ts";

interface About {
  run_id: number | null;
  flow_id: number | null;
}

type Payload = Readonly<Record<string, unknown>>;

export function ruleEvent(turn: Turn, name: EventName, rule: Rule, about: About, payload: Payload): number {
  const run = about.run_id === null ? undefined : turn.state.findRun(about.run_id);
  const flow = run?.flow ?? (about.flow_id === null ? undefined : turn.state.flows.get(about.flow_id));
  const related: object[] = [];
  if (run !== undefined) {
    const texts = turn.state.textsOf(run);
    related.push({ kind: "run", id: texts.external_id, name: texts.name });
  }
  if (flow !== undefined) related.push({ kind: "flow", id: flowKey(flow.project, flow.name), name: flow.name });
  const resource = { kind: "rule", id: rule.external_id, name: rule.name };
  return turn.events.given({ name, run: run ?? null, flow_id: flow?.id ?? null, resource, related, payload });
}

/** Records a failure of a rule outside of a firing. */
export function actionFailed(turn: Turn, rule: Rule, about: About, error: string): void {
  const action = rule.spec.do[0]?.kind ?? "call";
  ruleEvent(turn, "rule.action.failed", rule, about, { rule_id: rule.id, action, index: 0, error });
}
