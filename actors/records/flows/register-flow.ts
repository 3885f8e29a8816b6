/** Registers flows: with the first run that names a flow, and by discovery. */
import { canonicalJson } from "#protocol/values/json";
import type { RowOf } from "#storage/write/ops";
import type { Flow } from "../../core/state/flow.ts";
import { readOptions } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { requeue } from "../../dispatcher/hand-out/hand-out.ts";
import { flowEvent } from "./flow-events.ts";

/** A registration; absent fields stay as registered before. */
export interface FlowRegistration {
  project: string;
  flow: string;
  module: string;
  source_dir: string;
  description?: string | null | undefined;
  flow_group?: string | null | undefined;
  flow_tags?: readonly string[] | null | undefined;
  parameter_schema?: Record<string, unknown> | null | undefined;
  options?: Record<string, unknown> | null | undefined;
}

/** The schema of the flow after this registration. */
export function schemaAfter(known: Flow | undefined, { parameter_schema: sent }: FlowRegistration): Flow["parameter_schema"] {
  return sent != null && (known === undefined || Object.keys(sent).length > 0) ? sent : (known?.parameter_schema ?? null);
}

/** Adds a flow or updates a known flow; `live` if it comes from code served by this server. */
export function registerFlow(turn: Turn, sent: FlowRegistration, live: boolean): Flow {
  const known = turn.state.flowByName(sent.project, sent.flow);
  return known === undefined ? addFlow(turn, sent, live) : refreshFlow(turn, known, sent, live);
}

function addFlow(turn: Turn, sent: FlowRegistration, live: boolean): Flow {
  const optionsText = canonicalJson(sent.options ?? {});
  const flow: Flow = {
    id: turn.state.nextIds.flow,
    external_id: turn.ids.uuid(),
    project: sent.project,
    name: sent.flow,
    module: sent.module,
    source_dir: sent.source_dir,
    description: sent.description ?? null,
    flow_group: sent.flow_group ?? null,
    tags: [...(sent.flow_tags ?? [])],
    parameter_schema: schemaAfter(undefined, sent),
    optionsText,
    options: readOptions(sent.options ?? {}),
    error: null,
    schedule_error: null,
    created_at: turn.nowUs,
    last_seen_at: turn.nowUs,
    live,
    handedOut: 0,
    away: 0,
    inheritedPriority: null,
    exclusive: false,
  };
  turn.state.nextIds.flow += 1;
  if (flow.options.after === null) turn.state.putFlow(flow);
  else requeue(turn, runsOfProject(turn, flow.project), () => turn.state.putFlow(flow));
  const { id, external_id, project, name, created_at } = flow;
  turn.rows.put("insert_flow", { id, external_id, project, name, ...changeable(flow), created_at });
  registered(turn, flow);
  return flow;
}

function registered(turn: Turn, flow: Flow): void {
  const { project, name, module } = flow;
  turn.stream.add("flow.registered", flow.id);
  flowEvent(turn, flow, "flow.registered", null, { flow: name, module, project });
}

function refreshFlow(turn: Turn, flow: Flow, sent: FlowRegistration, live: boolean): Flow {
  const change = (): void => {
    flow.module = sent.module;
    flow.source_dir = sent.source_dir;
    flow.description = sent.description ?? flow.description;
    flow.flow_group = sent.flow_group ?? flow.flow_group;
    if (sent.flow_tags != null && sent.flow_tags.length > 0) flow.tags = [...sent.flow_tags];
    flow.parameter_schema = schemaAfter(flow, sent);
    if (sent.options != null && Object.keys(sent.options).length > 0) {
      flow.optionsText = canonicalJson(sent.options);
      flow.options = readOptions(sent.options);
    }
    flow.error = null;
    flow.live ||= live;
    flow.last_seen_at = turn.nowUs;
    turn.state.putFlow(flow);
  };
  const moves = flow.module !== sent.module || flow.source_dir !== sent.source_dir;
  if (changesQueue(flow, sent)) requeue(turn, runsOfProject(turn, flow.project), change);
  else change();
  updateFlow(turn, flow);
  // Clients send the flow with each run; an unchanged flow records no event.
  if (live || moves) registered(turn, flow);
  else turn.stream.add("flow.registered", flow.id);
  return flow;
}

/** The options of a flow affect where runs of its upstream flows wait; those are in the same project. */
export function runsOfProject(turn: Turn, project: string): Run[] {
  return [...turn.state.runs.values()].filter((run) => run.flow.project === project);
}

/** Whether waiting runs of the flow move to another queue. */
function changesQueue(flow: Flow, sent: FlowRegistration): boolean {
  if (flow.module !== sent.module || flow.source_dir !== sent.source_dir) return true;
  return sent.options != null && Object.keys(sent.options).length > 0 && canonicalJson(sent.options) !== flow.optionsText;
}

/** Writes the changeable fields of a flow. */
export function updateFlow(turn: Turn, flow: Flow): void {
  turn.rows.put("update_flow", { id: flow.id, ...changeable(flow) });
}

function changeable(flow: Flow): Omit<RowOf<"update_flow">, "id"> {
  const { module, source_dir, description, flow_group, error, schedule_error, last_seen_at } = flow;
  return {
    module,
    source_dir,
    description,
    flow_group,
    tags: JSON.stringify(flow.tags),
    parameter_schema: flow.parameter_schema === null ? null : canonicalJson(flow.parameter_schema),
    options: flow.optionsText,
    error,
    schedule_error,
    last_seen_at,
  };
}
