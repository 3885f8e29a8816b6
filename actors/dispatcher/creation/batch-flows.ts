/**
 * The flows of a batch that is being prepared. A flow is registered with the first run that is created of it, in the step that
 * decides the batch; until then, its registration counts only within the batch.
 */
import { Refusal, refuse } from "#protocol/errors";
import { RUN_BATCH_FLOWS_MAX } from "#protocol/limits";
import type { RunDefaults, RunOfBatch } from "#protocol/records/run-batch";
import { canonicalJson } from "#protocol/values/json";
import { type Flow, flowKey } from "../../core/state/flow.ts";
import type { LiveState } from "../../core/state/live-state.ts";
import type { Turn } from "../../core/turn.ts";
import { type FlowRegistration, registerFlow, schemaAfter } from "../../records/flows/register-flow.ts";
import { refuseLargeFlow } from "./sent-run.ts";

/** The flow of some runs of a batch. */
export interface BatchFlow {
  /** As it was when it was found; undefined for a flow that the batch registers as a new one. */
  readonly known: Flow | undefined;
  readonly knownSchema: Flow["parameter_schema"];
  readonly knownTags: readonly string[];
  /** Null if the batch registers nothing for it. */
  readonly registration: FlowRegistration | null;
  /** The schema and the tags for its runs. */
  readonly schema: Flow["parameter_schema"];
  readonly tags: readonly string[];
}

/** The fields of a run, and of the defaults, that describe its flow. */
const FLOW_FIELDS = [
  "project",
  "module",
  "source_dir",
  "description",
  "flow_group",
  "flow_tags",
  "parameter_schema",
  "options",
] as const;

/** Runs that name their flow in the same way share one object. */
export class BatchFlows {
  readonly #defaults: RunDefaults;
  /** What the defaults name; null until a run needs it. */
  #ofDefaults: BatchFlow | Refusal | null = null;
  readonly #known = new Map<number, BatchFlow>();
  readonly #registered = new Map<string, { flow: BatchFlow; text: string }>();

  constructor(defaults: RunDefaults) {
    this.#defaults = defaults;
  }

  /** The flow of a run, or why the run is refused. A run describes its flow as a whole, or leaves that to the defaults. */
  find(turn: Turn, sent: RunOfBatch): BatchFlow | Refusal {
    const defaults = this.#defaults;
    if (sent.flow != null) return this.#find(turn, { ...sent, project: sent.project ?? defaults.project ?? null });
    if (sent.flow_id != null) return this.#find(turn, sent);
    const stray = FLOW_FIELDS.find((field) => sent[field] != null);
    if (stray !== undefined) return refuse("invalid", `${stray}: is about a flow, which the run does not name`);
    if (this.#ofDefaults !== null) return this.#ofDefaults;
    const found = this.#find(turn, defaults);
    // A later run may register the flow.
    if (!(found instanceof Refusal) || found.code !== "flow_unknown") this.#ofDefaults = found;
    return found;
  }

  /** Whether every flow is as it was when it was found. */
  areCurrent(state: LiveState): boolean {
    const registered = [...this.#registered.values()].map(({ flow }) => flow);
    return [...this.#known.values(), ...registered].every((flow) => isCurrent(state, flow));
  }

  #find({ state }: Turn, sent: RunDefaults): BatchFlow | Refusal {
    const { flow: name, flow_id, project, module, source_dir } = sent;
    if (flow_id != null) {
      if (name != null) return refuse("invalid", "flow_id: leave it out beside flow");
      const flow = state.flows.get(flow_id);
      return flow === undefined ? refuse("flow_not_found", flow_id) : this.#asKnown(flow);
    }
    if (name == null) return refuse("invalid", "flow: is required, or flow_id");
    if (project == null) return refuse("invalid", "project: is required");
    const known = state.flowByName(project, name);
    if (known?.live === true) return this.#asKnown(known);
    if (module != null && source_dir != null) {
      const { description, flow_group, flow_tags, parameter_schema, options } = sent;
      const about = { description, flow_group, flow_tags, parameter_schema, options };
      return this.#register(known, { flow: name, project, module, source_dir, ...about });
    }
    const registered = this.#registered.get(flowKey(project, name));
    if (registered !== undefined) return registered.flow;
    return known === undefined ? refuse("flow_unknown", project, name) : this.#asKnown(known);
  }

  #asKnown(flow: Flow): BatchFlow {
    const found = this.#known.get(flow.id);
    if (found !== undefined) return found;
    const { parameter_schema: schema, tags } = flow;
    const added = { known: flow, knownSchema: schema, knownTags: tags, registration: null, schema, tags };
    this.#known.set(flow.id, added);
    return added;
  }

  #register(known: Flow | undefined, registration: FlowRegistration): BatchFlow | Refusal {
    const key = flowKey(registration.project, registration.flow);
    const text = canonicalJson(registration);
    const before = this.#registered.get(key);
    if (before !== undefined)
      return before.text === text ? before.flow : refuse("batch_flow_twice", registration.project, registration.flow);
    const tooLarge = refuseLargeFlow(text, registration);
    if (tooLarge !== null) return tooLarge;
    if (this.#registered.size >= RUN_BATCH_FLOWS_MAX) return refuse("batch_flows", RUN_BATCH_FLOWS_MAX);
    const schema = schemaAfter(known, registration);
    const { flow_tags } = registration;
    const knownTags = known?.tags ?? [];
    const tags = flow_tags != null && flow_tags.length > 0 ? flow_tags : knownTags;
    const flow = { known, knownSchema: known?.parameter_schema ?? null, knownTags, registration, schema, tags };
    this.#registered.set(key, { flow, text });
    return flow;
  }
}

/** Registers the flow if the batch does so; called once for each flow of which a run is created. */
export function settleFlow(turn: Turn, { known, registration }: BatchFlow): Flow {
  if (registration !== null) return registerFlow(turn, registration, false);
  if (known === undefined) throw new Error("a flow is neither known nor registered");
  return known;
}

function isCurrent(state: LiveState, { known, knownSchema, knownTags, registration }: BatchFlow): boolean {
  const now = registration === null ? state.flows.get(known?.id ?? 0) : state.flowByName(registration.project, registration.flow);
  if (now !== known) return false;
  if (now === undefined) return true;
  if (registration !== null && now.live) return false;
  // Clients register a flow with each run: schema and tags are other objects, but usually the same.
  if (now.tags !== knownTags && JSON.stringify(now.tags) !== JSON.stringify(knownTags)) return false;
  return now.parameter_schema === knownSchema || canonicalJson(now.parameter_schema) === canonicalJson(knownSchema);
}
