/**
 * Retention: what is older than the settings say is deleted, in slices small enough to go unnoticed, once an hour until
 * nothing is left. Events that rules have not looked at stay. Hours are counted since boot, and nothing is deleted while a step of
 * the wall clock is not accepted: age goes by a clock that may be wrong.
 */
import { putOperation } from "#storage/ops";
import { dropRun } from "../dispatcher/delete-commands.ts";
import { isEnded } from "../live-state/run.ts";
import { skipDeletedFire } from "../scheduler/skips.ts";
import type { Turn } from "../turn.ts";

const DAY_US = 86_400_000_000;
const SWEEP_EVERY_US = 3_600_000_000;
/** A server that has just started has other things to do. */
const FIRST_SWEEP_US = 60_000_000;
/** Stretches of 256 events in one slice: some ten milliseconds of the writer. */
const STRETCHES_PER_SLICE = 4;
const RUNS_PER_SLICE = 20;
/** Task runs of the runs in one slice: each has some rows, and events that get what they borrowed. */
const TASK_RUNS_PER_SLICE = 200;

export class Retention {
  /** Time since boot. */
  #nextUs: number;
  #sweeping = false;

  constructor(bootUs: number) {
    this.#nextUs = bootUs + FIRST_SWEEP_US;
  }

  /** One slice, when a sweep is due or under way. */
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

/** Deletes one slice; whether there was anything to delete. */
export function sweepSlice(turn: Turn): boolean {
  const { retainDays, retainRunsDays } = turn.state.settings;
  // Whatever the age, what deleted rows have left behind goes, and the file gives space back.
  const history = trimHistory(turn, retainDays > 0 ? turn.nowUs - retainDays * DAY_US : 0);
  const runs = retainRunsDays !== null && retainRunsDays > 0 && deleteOldRuns(turn, turn.nowUs - retainRunsDays * DAY_US);
  return history || runs;
}

function trimHistory(turn: Turn, beforeUs: number): boolean {
  const lastEvent = turn.state.rules.storedCursor;
  if (!turn.state.reader.hasOldHistory(beforeUs, lastEvent)) return false;
  putOperation(turn.decision.ops, "trim_history", beforeUs, lastEvent, STRETCHES_PER_SLICE);
  return true;
}

function deleteOldRuns(turn: Turn, beforeUs: number): boolean {
  const ids = turn.state.reader.runsEndedBefore(beforeUs, RUNS_PER_SLICE);
  let taskRuns = 0;
  for (const id of ids) {
    const run = turn.state.findRun(id);
    if (run === undefined || !isEnded(run)) continue;
    const schedule = run.schedule_id === null ? undefined : turn.state.schedules.get(run.schedule_id);
    // One that was cancelled long before its time gets no other.
    if (schedule !== undefined) skipDeletedFire(turn, schedule, run);
    dropRun(turn, run);
    taskRuns += Object.values(run.taskCounts).reduce((sum, count) => sum + count, 0);
    if (taskRuns >= TASK_RUNS_PER_SLICE) break;
  }
  return ids.length > 0;
}
