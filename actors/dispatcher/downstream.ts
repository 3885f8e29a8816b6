/** Runs of flows that declare the flow of a completed run as their upstream. */
import { canonicalJson, parseJson } from "#protocol/json";
import { parameterDefaults } from "#protocol/parameters";
import type { Flow } from "../live-state/flow.ts";
import type { Run } from "../live-state/run.ts";
import type { Turn } from "../turn.ts";
import { createRun } from "./create-run.ts";
import { nameOfKeyedRun, noteCompletion, recordFanIn } from "./fan-in.ts";

/** Text that is exactly one of these expressions is replaced by the value, keeping its type. */
const EXPRESSION = /^\{\{\s*run\.(id|name|external_id|parameters\.([A-Za-z_][A-Za-z0-9_]*))\s*\}\}$/;

/** Creates the downstream runs that follow from the completion of `upstream`. */
export function createDownstreamRuns(turn: Turn, upstream: Run): void {
  for (const flow of turn.state.downstreamOf(upstream.flow)) {
    if (flow.options.after?.key === null) createDownstreamRun(turn, flow, upstream, `${flow.name}-after-${upstream.name}`);
  }
  for (const { flow, value, upstream: completed } of noteCompletion(turn, upstream, true)) {
    const run = createDownstreamRun(turn, flow, upstream, nameOfKeyedRun(flow, value));
    if (run !== null) recordFanIn(turn, flow, value, completed, run.id);
  }
}

/** Flows that could not be loaded are left out. */
function createDownstreamRun(turn: Turn, flow: Flow, upstream: Run, name: string): Run | null {
  if (flow.error !== null) return null;
  const given = parseJson(turn.state.parametersOf(upstream)) as Record<string, unknown>;
  const parameters = { ...parameterDefaults(flow.parameter_schema), ...downstreamParameters(flow, upstream, given) };
  return createRun(turn, flow, { name, parametersText: canonicalJson(parameters), tags: [], createdBy: `run:${upstream.id}` });
}

/** Values the downstream's schema declares are passed on by name; then the declared parameters, with expressions filled in. */
function downstreamParameters(flow: Flow, upstream: Run, given: Record<string, unknown>): Record<string, unknown> {
  const properties = flow.parameter_schema?.["properties"];
  const declared = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const parameters: Record<string, unknown> = {};
  for (const name of declared) if (Object.hasOwn(given, name)) parameters[name] = given[name];
  for (const [name, value] of Object.entries(flow.options.after?.parameters ?? {})) {
    parameters[name] = fillExpression(value, upstream, given);
  }
  return parameters;
}

function fillExpression(value: unknown, upstream: Run, given: Record<string, unknown>): unknown {
  const match = typeof value === "string" ? EXPRESSION.exec(value) : null;
  if (match === null) return value;
  if (match[2] !== undefined) return given[match[2]] ?? null;
  if (match[1] === "id") return upstream.id;
  return match[1] === "name" ? upstream.name : upstream.external_id;
}
