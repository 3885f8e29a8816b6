/** Creates runs of flows whose declared upstream is the flow of a completed run. */

import { NAME_LENGTH_MAX } from "#protocol/limits";
import type { State } from "#protocol/records/state";
import { canonicalJson, copyPart, mergeParts, parseKeepingFractions } from "#protocol/values/json";
import { parameterDefaults } from "#protocol/values/parameters";
import { upstreamValue } from "#protocol/values/upstream-value";
import type { Flow } from "../../core/state/flow.ts";
import type { Run, RunTexts } from "../../core/state/run.ts";
import type { CompletedRun, Turn } from "../../core/turn.ts";
import { keysOf, nameOfKeyedRun, noteCompletion, recordFanIn } from "./fan-in.ts";
import { addRun } from "./new-run.ts";
import type { EndedAtOnce } from "./overlap.ts";

/**
 * Creates the downstream runs of the runs that completed. A run that ends at its creation completes in turn; such runs join
 * the list, because recursion over a chain of thousands of flows would overflow the stack.
 */
export function createDownstreamRuns(turn: Turn): void {
  for (const next of turn.completed) createFollowers(turn, next);
  turn.completed.length = 0;
}

function createFollowers(turn: Turn, completed: CompletedRun): void {
  const upstream = completed.run;
  if (isLeftOut(upstream)) return createSkippedRuns(turn, completed);
  for (const flow of turn.state.downstreamOf(upstream.flow)) {
    if (flow.options.after?.key === null) createDownstreamRun(turn, flow, upstream, nameAfter(turn, flow, upstream));
  }
  for (const { flow, value, upstream: completed } of noteCompletion(turn, upstream, true)) {
    const run = createDownstreamRun(turn, flow, upstream, nameOfKeyedRun(flow, value));
    if (run !== null) recordFanIn(turn, value, completed, run);
  }
}

/** True for a run skipped by a person, or downstream of such a run. Any other skipped run counts as completed. */
function isLeftOut(run: Run): boolean {
  const { name, details } = run.state;
  return name === "Skipped" && (details["reason"] === "user" || details["reason"] === "upstream");
}

/** Downstream runs of a run that a person skipped are skipped as well, along the whole chain. */
function createSkippedRuns(turn: Turn, completed: CompletedRun): void {
  const upstream = completed.run;
  const details = { reason: "upstream", upstream_run: upstream.id };
  const message = `upstream run ${turn.state.textsOf(upstream).name} was skipped`;
  const state: State = { type: "Completed", name: "Skipped", timestamp: turn.nowUs, message, details };
  const outcome = { state, extra: { reason: "upstream" } };
  const above = completed.above ?? flowsAbove(turn, upstream);
  const keyed = new Map(keysOf(turn, upstream));
  const firstMade = turn.completed.length;
  for (const flow of turn.state.downstreamOf(upstream.flow)) {
    if (above.has(flow)) continue;
    if (flow.options.after?.key == null) {
      createDownstreamRun(turn, flow, upstream, nameAfter(turn, flow, upstream), outcome);
      continue;
    }
    const value = keyed.get(flow);
    if (value === undefined || turn.state.keyedRuns(flow.id, value, turn.number).has(flow.id)) continue;
    createDownstreamRun(turn, flow, upstream, nameOfKeyedRun(flow, value), outcome);
  }
  shareAbove(above, turn.completed.slice(firstMade));
}

/** Truncated, because names grow with every flow of a chain. */
function nameAfter(turn: Turn, flow: Flow, upstream: Run): string {
  return `${flow.name}-after-${turn.state.textsOf(upstream).name}`.slice(0, NAME_LENGTH_MAX).toWellFormed();
}

/**
 * Adds each run's flow to its set of flows above. The last run reuses the set without a copy, so that a long chain costs
 * linear time.
 */
function shareAbove(above: Set<Flow>, made: readonly CompletedRun[]): void {
  for (const [index, each] of made.entries()) {
    each.above = index === made.length - 1 ? above : new Set(above);
    each.above.add(each.run.flow);
  }
}

/** The flows along a chain of skipped runs; a flow that occurs twice ends a cycle. */
function flowsAbove(turn: Turn, run: Run): Set<Flow> {
  const flows = new Set<Flow>();
  for (let above: Run | undefined = run; above !== undefined && !flows.has(above.flow); ) {
    flows.add(above.flow);
    const id: unknown = above.state.details["upstream_run"];
    above = typeof id === "number" ? turn.state.findRun(id) : undefined;
  }
  return flows;
}

/** Returns null for a flow that could not be loaded. */
function createDownstreamRun(turn: Turn, flow: Flow, upstream: Run, name: string, outcome?: EndedAtOnce): Run | null {
  if (flow.error !== null) return null;
  const passed = downstreamParameters(flow, turn.state.textsOf(upstream), upstream.id);
  const parameters = mergeParts(parameterDefaults(flow.parameter_schema), passed);
  const wanted = {
    name,
    parametersText: canonicalJson(parameters),
    tags: [],
    createdBy: `run:${upstream.id}`,
    follows: upstream,
  };
  return addRun(turn, flow, outcome === undefined ? wanted : { ...wanted, outcome });
}

/**
 * Parameters declared by the downstream's schema, passed by name; then the parameters of `after`, with expressions replaced.
 */
function downstreamParameters(flow: Flow, upstream: RunTexts, upstreamId: number): Record<string, unknown> {
  const given = parseKeepingFractions(upstream.parameters) as Record<string, unknown>;
  const properties = flow.parameter_schema?.["properties"];
  const declared = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const parameters: Record<string, unknown> = {};
  for (const name of declared) if (Object.hasOwn(given, name)) copyPart(given, name, parameters);
  const after = flow.options.after?.parameters ?? {};
  for (const [name, value] of Object.entries(after)) {
    const wanted = typeof value === "string" ? upstreamValue(value) : null;
    if (wanted === null) copyPart(after, name, parameters);
    else if (wanted.parameter === null) parameters[name] = factOf(upstreamId, upstream, wanted.fact);
    else if (Object.hasOwn(given, wanted.parameter)) copyPart(given, wanted.parameter, parameters, name);
    else parameters[name] = null;
  }
  return parameters;
}

function factOf(id: number, { name, external_id }: RunTexts, fact: string): unknown {
  if (fact === "id") return id;
  return fact === "name" ? name : external_id;
}
