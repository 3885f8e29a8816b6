/** Crashes: the end of a run whose engine is gone, and its rerun. */
import { fireTimeOf, isEnded, type Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { ENGINE_PROCESSES } from "../../names.ts";
import { createRun } from "../creation/create-run.ts";
import { nameOfRerun } from "../creation/run-names.ts";
import { endWithoutRerun } from "../durable/ends.ts";
import { lineageOf } from "../durable/lineages.ts";
import { queueCrashHooks } from "../engines/jobs.ts";
import { isServedHere } from "./hooks.ts";
import { moveRun } from "./move-run.ts";
import { endTasks } from "./moves.ts";

export const ENGINE_EXITED = "engine process exited unexpectedly";

/**
 * Ends a run whose engine is gone: Cancelled if a cancel was requested, Crashed with a rerun, or Failed at the limit. A run that
 * ended with its engine while another run was or may have been at fault (`details.fault` "other" or "unknown") is run again
 * without being counted, once in its line of reruns; never if its flow allows no rerun.
 */
export function crashRun(turn: Turn, run: Run, cause: string, details: Record<string, unknown> = {}): void {
  turn.out.send(ENGINE_PROCESSES, { kind: "EndProcesses", run: turn.state.textsOf(run).external_id });
  if (isEnded(run)) return;
  const end = { timestamp: turn.nowUs, details };
  const cancelled = run.state.type === "Cancelling";
  endTasks(turn, run, cancelled ? "Cancelled" : "Crashed", cancelled ? "cancelled" : cause);
  if (cancelled) {
    return moveRun(turn, run, { type: "Cancelled", name: "Cancelled", message: "cancelled", ...end });
  }
  const limit = run.flow.options.crashRetries ?? turn.state.settings.crashRetriesDefault;
  const uncounted = isNeighbour(details) && limit > 0 && !run.uncounted;
  if (run.reruns >= limit && !uncounted) {
    return moveRun(turn, run, {
      type: "Failed",
      name: "Failed",
      timestamp: turn.nowUs,
      message: `crash limit reached: ${cause}`,
      details: { ...details, crash: cause },
    });
  }
  const rerun_at = scheduleRerun(turn, run);
  run.uncounted ||= uncounted;
  const why = uncounted ? { ...details, uncounted } : details;
  moveRun(turn, run, { type: "Crashed", name: "Crashed", message: cause, ...end, details: { ...why, rerun_at } });
  if (run.flow.options.hasCrashHooks && !isServedHere(turn, run.flow)) queueCrashHooks(turn, run);
}

function isNeighbour({ fault }: Record<string, unknown>): boolean {
  return fault === "other" || fault === "unknown";
}

/** Sets the time of the rerun. The delay is stored, so that a restart neither loses nor repeats the rerun. */
function scheduleRerun(turn: Turn, run: Run): number {
  const [least, most] = turn.state.settings.rerunDelaySeconds;
  const waitUs = Math.round((least + turn.ids.random() * (most - least)) * 1e6);
  const dueUs = turn.nowUs + waitUs;
  turn.rows.put("put_rerun", { run_id: run.id, due: dueUs });
  turn.state.deadlines.wait("rerun", run.id, waitUs, dueUs);
  turn.state.room.keepForRerun(run.id, dueUs);
  return dueUs;
}

/** Creates the rerun of a crashed run, planned for `dueUs`: a new run with the same parameters. */
export function rerun(turn: Turn, runId: number, dueUs: number): void {
  // A stopping server leaves the stored rerun to the next server. A run that was moved by hand may have crashed again since.
  if (turn.state.stopping || turn.state.room.rerunDueUs(runId) !== dueUs) return;
  turn.rows.put("delete_rerun", { run_id: runId });
  turn.state.room.giveUpRerun(runId);
  const crashed = turn.state.findRun(runId);
  if (crashed === undefined || crashed.state.type !== "Crashed") return;
  if (crashed.backfill_id !== null && turn.state.findBackfill(crashed.backfill_id)?.cancelled)
    return endWithoutRerun(turn, crashed);
  const { details } = crashed.state;
  const lineage = lineageOf(turn.state, crashed);
  const reruns = crashed.reruns + (details["uncounted"] === true ? 0 : 1);
  createRun(turn, crashed.flow, {
    name: nameOfRerun(turn.state.textsOf(crashed).name, crashed.reruns + 1),
    alone: details["fault"] === "unknown",
    uncounted: crashed.uncounted,
    parametersText: turn.state.parametersOf(crashed),
    tags: turn.state.tagsOf(crashed),
    createdBy: `crash:${crashed.id}`,
    scheduleId: crashed.schedule_id,
    fireTime: fireTimeOf(crashed),
    traceparent: turn.state.textsOf(crashed).traceparent,
    backfillId: crashed.backfill_id,
    parentRunId: crashed.id,
    follows: crashed,
    priority: crashed.priority,
    attempt: crashed.attempt + 1,
    reruns,
    hasPlace: true,
    ...(lineage !== null && { lineage: { lineage, callerRunId: crashed.durable?.callerRunId ?? null } }),
  });
}
