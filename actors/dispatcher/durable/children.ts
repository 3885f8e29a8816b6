/** Child runs: a run that a durable run calls, created with the wait for its end. */
import { type Refusal, refuse } from "#protocol/errors";
import type { ChildWait } from "#protocol/records/durable";
import type { StoredWait } from "../../core/state/durable.ts";
import type { Flow } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { registerFlow, schemaAfter } from "../../records/flows/register-flow.ts";
import { createRun } from "../creation/create-run.ts";
import { acceptParameters, refuseLargeFlow } from "../creation/sent-run.ts";

/** A checked child. */
export interface NewChild {
  /** Registers the flow if the child does so: only once all waits are accepted. */
  flow: () => Flow;
  /** Canonical JSON text. */
  parametersText: string;
}

export function acceptChild(
  turn: Turn,
  caller: Run,
  { flow: named, parameters = {}, registration: sent }: ChildWait,
): NewChild | { refusal: Refusal } {
  const { project } = caller.flow;
  const known = findFlow(turn, project, named);
  if (sent == null || known?.live === true)
    return known === undefined
      ? { refusal: refuse("flow_unknown", project, named) }
      : accepted(known.parameter_schema, parameters, () => known);
  const slash = named.indexOf("/");
  const path = slash === -1 ? { project, flow: named } : { project: named.slice(0, slash), flow: named.slice(slash + 1) };
  const registration = { ...sent, ...path };
  const tooLarge = refuseLargeFlow(JSON.stringify(registration), registration);
  if (tooLarge !== null) return { refusal: tooLarge };
  return accepted(schemaAfter(known, registration), parameters, () => registerFlow(turn, registration, false));
}

function accepted(
  schema: Flow["parameter_schema"],
  parameters: Record<string, unknown>,
  flow: () => Flow,
): NewChild | { refusal: Refusal } {
  const text = acceptParameters(schema, parameters);
  return typeof text === "string" ? { flow, parametersText: text } : { refusal: text };
}

/** A flow of the caller's project, or one named with its project. */
function findFlow(turn: Turn, project: string, named: string): Flow | undefined {
  const own = turn.state.flowByName(project, named);
  const slash = named.indexOf("/");
  return own ?? (slash === -1 ? undefined : turn.state.flowByName(named.slice(0, slash), named.slice(slash + 1)));
}

/** Creates the run of a child with a lineage of its own, whose end settles the wait. */
export function createChild(
  turn: Turn,
  caller: Run,
  wait: StoredWait,
  asked: ChildWait,
  { flow, parametersText }: NewChild,
): void {
  const { durable, nextIds } = turn.state;
  const id = nextIds.run;
  const depth = durable.get(wait.lineage_id).depth + 1;
  const lineage = durable.begin(id, { depth, callerWait: wait.id });
  turn.rows.put("put_lineage", {
    ...{ id, origin_id: null, before_task: null, before_time: null, depth },
    caller_wait: wait.id,
    on_parent_end: asked.on_parent_end ?? "cancel",
  });
  createRun(turn, flow(), {
    name: null,
    parametersText,
    tags: asked.tags ?? [],
    createdBy: `run:${caller.id}`,
    ...(asked.priority != null && { priority: asked.priority }),
    ...(asked.delay !== undefined && asked.delay > 0 && { scheduledTime: turn.nowUs + Math.round(asked.delay * 1e6) }),
    follows: caller,
    lineage: { lineage, callerRunId: caller.id },
  });
}
