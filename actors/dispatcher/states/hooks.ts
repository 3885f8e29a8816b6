/**
 * Hooks of flows that the server calls. For a state to which an engine has moved its run, the engine calls the hook. For
 * every other end of a run (its engine died, it was cancelled while waiting, a person or a rule moved it), the user-code
 * process calls the hook, if the flow comes from the served directory. The call is a row of the decision that ends the run.
 */
import { isTerminal } from "#protocol/records/state";
import type { Flow } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { putOutbound } from "../../rule-engine/reactions/outbound-messages.ts";
import { originOf } from "../hand-out/work-item.ts";

/** True when the server itself can call code of the flow. */
export function isServedHere(turn: Turn, flow: Flow): boolean {
  return flow.source_dir === turn.state.settings.servedDir && flow.options.hooks.length > 0;
}

/** Queues a call of the hook for the run's state, if the flow has one. Hooks are not called for skipped runs. */
export function requestHookCall(turn: Turn, run: Run): void {
  const { flow, state } = run;
  if (!isTerminal(state.type) || state.name === "Skipped") return;
  if (!flow.options.hooks.includes(state.type) || !isServedHere(turn, flow)) return;
  const { id } = run;
  const { external_id, name, parameters: text } = turn.state.textsOf(run);
  const parameters = JSON.parse(text) as Record<string, unknown>;
  const told = { id, external_id, name, parameters, ...originOf(turn.state, run) };
  const { module, project } = flow;
  const call = { type: "hook", module, project, flow: flow.name, run: told, state } as const;
  putOutbound(turn, { kind: "UserCall", call }, { kind: "hook", firing_id: null, rule_id: null, action: null });
}
