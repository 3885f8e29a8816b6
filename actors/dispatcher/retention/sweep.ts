/**
 * Retention: deletes data older than the settings allow, hourly, in slices small enough not to be noticed. Events that rules
 * have not processed stay. Hours are counted since boot. While a step of the wall clock is not accepted, nothing is deleted,
 * because ages may be wrong.
 */
import { isEnded } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { skipDeletedFire } from "../../scheduler/fires/skips.ts";
import { noteDeletion } from "../durable/ends.ts";
import { dropRun } from "../states/drop-run.ts";

const DAY_US = 86_400_000_000;
const SWEEP_EVERY_US = 3_600_000_000;
/** A server that has just started has more urgent work. */
const FIRST_SWEEP_US = 60_000_000;
/** Stretches of 256 events per slice: about ten milliseconds of the writer. */
const STRETCHES_PER_SLICE = 4;
const RUNS_PER_SLICE = 20;
/** Task runs of the runs in one slice: each has some rows, and events that take over borrowed fields. */
const TASK_RUNS_PER_SLICE = 200;

export class Retention {
  /** Time since boot. */
  #nextUs: number;
  #sweeping = false;

  constructor(bootUs: number) {
    this.#nextUs = bootUs + FIRST_SWEEP_US;
  }

  /** Deletes one slice when a sweep is due or in progress. */
  tick(turn: Turn): void {
    const { clock } = turn.state;
    if (clock.openStep !== null) return;
    if (clock.bootUs >= this.#nextUs) {
      this.#nextUs = clock.bootUs + SWEEP_EVERY_US;
      this.#sweeping = true;
    }
    if (this.#sweeping) this.#sweeping = sweepSlice(turn);
  }
}

/** Deletes one slice; returns whether there was anything to delete. */
export function sweepSlice(turn: Turn): boolean {
  const { retainDays, retainRunsDays } = turn.state.settings;
  // Rows left behind by deleted rows go regardless of their age, and free pages are returned to the file system.
  const history = trimHistory(turn, retainDays > 0 ? turn.nowUs - retainDays * DAY_US : 0);
  const runs = retainRunsDays !== null && retainRunsDays > 0 && deleteOldRuns(turn, turn.nowUs - retainRunsDays * DAY_US);
  return history || runs;
}

function trimHistory(turn: Turn, beforeUs: number): boolean {
  const lastEvent = turn.state.rules.storedCursor;
  if (!turn.state.reader.hasOldHistory(beforeUs, lastEvent)) return false;
  turn.rows.put("trim_history", { before: beforeUs, last_event: lastEvent, stretches: STRETCHES_PER_SLICE });
  return true;
}

function deleteOldRuns(turn: Turn, beforeUs: number): boolean {
  const ids = turn.state.reader.runsEndedBefore(beforeUs, RUNS_PER_SLICE);
  let taskRuns = 0;
  for (const id of ids) {
    const run = turn.state.findRun(id);
    if (run === undefined || !isEnded(run)) continue;
    const schedule = run.schedule_id === null ? undefined : turn.state.schedules.get(run.schedule_id);
    // The fire of a run that was cancelled long before its time gets no other run.
    if (schedule !== undefined) skipDeletedFire(turn, schedule, run);
    dropRun(turn, run);
    if (run.durable !== null) noteDeletion(turn, run);
    taskRuns += Object.values(run.taskCounts).reduce((sum, count) => sum + count, 0);
    if (taskRuns >= TASK_RUNS_PER_SLICE) break;
  }
  return ids.length > 0;
}
