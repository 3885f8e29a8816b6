/** Events about flows. */
import type { EventName } from "#protocol/vocabulary";
import { type Flow, flowKey } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

/** Records an event whose resource is the flow; `run` is the run that caused it. */
export function flowEvent(turn: Turn, flow: Flow, name: EventName, run: Run | null, payload: Record<string, unknown>): void {
  const texts = run === null ? null : turn.state.textsOf(run);
  turn.events.given({
    name,
    run,
    flow_id: flow.id,
    resource: { id: flowKey(flow.project, flow.name), kind: "flow", name: flow.name },
    related: texts === null ? [] : [{ id: texts.external_id, kind: "run", name: texts.name }],
    payload,
  });
}
