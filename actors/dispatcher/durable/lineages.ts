/** Lineages: a chain of crash reruns of a durable run, or of a child, and what its engine learns of it. */
import type { DurableWork } from "#protocol/records/durable";
import { type Lineage, newDurable } from "../../core/state/durable.ts";
import type { LiveState } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

/** The lineage of a run; null for a run that is neither durable nor a child. */
export function lineageOf(state: LiveState, run: Run): Lineage | null {
  const id = run.durable?.lineageId ?? null;
  return id === null ? null : state.durable.get(id);
}

/** Id of another run with which the lineage of a run goes on: one that has not ended, or one that is to be run again. */
export function successorOf({ durable, room }: LiveState, run: Run): number | null {
  const id = run.durable?.lineageId ?? null;
  if (id === null) return null;
  const current = durable.look(id)?.run ?? null;
  if (current !== null) return current === run ? null : current.id;
  const newest = durable.newestRunOf(id);
  return newest === null || newest === run.id || room.rerunDueUs(newest) === undefined ? null : newest;
}

/** Begins the lineage of a durable run when the run is first handed out. */
export function beginLineage(turn: Turn, run: Run): void {
  if (run.durable === null) run.durable = newDurable(run.id, null);
  else if (run.durable.lineageId === null) run.durable.lineageId = run.id;
  else return;
  turn.state.durable.begin(run.id).run = run;
  turn.rows.setLineage(run);
}

/** Adds a new run to a lineage, as a crash rerun or as the first run of a fork or child. */
export function joinLineage(turn: Turn, run: Run, lineage: Lineage, callerRunId: number | null): void {
  run.durable = newDurable(lineage.id, callerRunId);
  lineage.run = run;
  turn.rows.setLineage(run);
}

/** The fields of a work item that tell an engine what the run goes on with, as JSON text after the other fields. */
export function durableFields(state: LiveState, run: Run): string {
  const parkAfter = `,"park_after_secs":${state.settings.parkAfterSecs}`;
  const { durable } = run;
  if (durable === null) return parkAfter;
  const progress = durable.progress === null ? "" : `,"progress":${durable.progress}`;
  if (!run.flow.options.durable || durable.lineageId === null) return parkAfter + progress;
  const lineage = state.durable.get(durable.lineageId);
  const work: DurableWork = {
    lineage_id: lineage.id,
    steps: state.durable.hasSteps(lineage) ? 1 : 0,
    waits: state.durable.hasWaits(lineage) ? 1 : 0,
    park_after_secs: state.settings.parkAfterSecs,
  };
  return `${parkAfter}${progress},"durable":${JSON.stringify(work)}`;
}
