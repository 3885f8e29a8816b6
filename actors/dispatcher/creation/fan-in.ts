/**
 * Keyed fan-in: a downstream flow runs once per value of its key, after the newest run of every upstream with that value has
 * completed.
 *
 * The state per value is a few rows: the newest run of each upstream, and the downstream's run. The rows are written when
 * runs are created and complete, so no history is searched. Values are compared as text; null never matches.
 */
import { NAME_LENGTH_MAX } from "#protocol/limits";
import { canonicalJson, parseJson } from "#protocol/values/json";
import type { Flow } from "../../core/state/flow.ts";
import type { KeyedRun } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { flowEvent } from "../../records/flows/flow-events.ts";

/** Records a new run for every key it counts for: those of downstream flows, and its own flow's. */
export function noteKeyedRun(turn: Turn, run: Run): void {
  for (const [downstream, value] of keysOf(turn, run)) put(turn, downstream, value, run, false);
}

/** Whether runs of a flow count for any key. */
export function isKeyed(turn: Turn, flow: Flow): boolean {
  return keyedFlows(turn, flow).length > 0;
}

function keyedFlows(turn: Turn, flow: Flow): Flow[] {
  return [flow, ...turn.state.downstreamOf(flow)].filter((each) => each.options.after?.key != null);
}

/** Records that a run completed (or was revived), and returns the flows and values that are complete now. */
export function noteCompletion(turn: Turn, run: Run, completed: boolean): { flow: Flow; value: string; upstream: number[] }[] {
  const due: { flow: Flow; value: string; upstream: number[] }[] = [];
  for (const [downstream, value] of keysOf(turn, run)) {
    if (downstream === run.flow) continue;
    const known = turn.state.keyedRuns(downstream.id, value, turn.number);
    if (known.get(run.flow.id)?.run_id !== run.id) continue;
    put(turn, downstream, value, run, completed);
    const upstream = completed && !known.has(downstream.id) ? completedUpstream(turn, downstream, known) : null;
    if (upstream !== null) due.push({ flow: downstream, value, upstream });
  }
  return due;
}

/** Removes a deleted run. */
export function forgetKeyedRun(turn: Turn, run: Run): void {
  for (const [downstream, value] of keysOf(turn, run)) {
    const known = turn.state.keyedRuns(downstream.id, value, turn.number);
    if (known.get(run.flow.id)?.run_id !== run.id) continue;
    known.delete(run.flow.id);
    turn.rows.put("delete_fan_in", { downstream_id: downstream.id, value, flow_id: run.flow.id });
  }
}

/** The name of the downstream run for a value. */
export function nameOfKeyedRun(flow: Flow, value: string): string {
  const name = `${flow.name}-${flow.options.after?.key}-${value}`.replace(/[: /]/g, "-");
  return name.slice(0, NAME_LENGTH_MAX).toWellFormed();
}

/** The keyed flows that a run counts for (downstream flows, and its own flow if keyed), with the text of the key's value. */
export function keysOf(turn: Turn, run: Run): [Flow, string][] {
  const keyed = keyedFlows(turn, run.flow);
  if (keyed.length === 0) return [];
  const parameters = parseJson(turn.state.parametersOf(run)) as Record<string, unknown>;
  return keyed.flatMap((flow): [Flow, string][] => {
    const value = parameters[flow.options.after?.key ?? ""];
    if (value === undefined || value === null) return [];
    return [[flow, typeof value === "string" ? value : canonicalJson(value)]];
  });
}

/** The completed runs of all upstream flows, or null if one is missing. */
function completedUpstream(turn: Turn, downstream: Flow, known: ReadonlyMap<number, KeyedRun>): number[] | null {
  const runs: number[] = [];
  for (const name of downstream.options.after?.flows ?? []) {
    const flow = turn.state.flowByName(downstream.project, name);
    const newest = flow === undefined ? undefined : known.get(flow.id);
    if (newest?.completed !== true) return null;
    runs.push(newest.run_id);
  }
  return runs;
}

function put(turn: Turn, downstream: Flow, value: string, run: Run, completed: boolean): void {
  const entry = { flow_id: run.flow.id, run_id: run.id };
  turn.state.keyedRuns(downstream.id, value, turn.number).set(run.flow.id, { ...entry, completed });
  turn.rows.put("put_fan_in", { downstream_id: downstream.id, value, ...entry, completed: completed ? 1 : 0 });
}

/** Records that all upstream flows have completed a run for the value; `run` is the downstream run. */
export function recordFanIn(turn: Turn, value: string, upstream: readonly number[], run: Run): void {
  const key = run.flow.options.after?.key ?? null;
  flowEvent(turn, run.flow, "flow.fan_in", run, { key, run_id: run.id, upstream, value });
}
