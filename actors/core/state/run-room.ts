/**
 * The room for unfinished runs. The core holds every unfinished run in memory (waiting, running or paused), so their number
 * is bounded. Beyond the bound, requests for runs are refused, and a run that a schedule or another run creates ends at its
 * creation.
 *
 * The bound is a number of runs. Memory beyond that of a usual run (tags, parameters, state details, task runs) counts as
 * further runs, so that the bound limits memory.
 */
import { isEnded, type Run } from "./run.ts";

/** Memory of a waiting run with short names, measured while many are created. */
const RUN_BYTES = 1_600;
/** Memory of a task run, and of one parent id. */
const TASK_RUN_BYTES = 800;
const PARENT_BYTES = 64;
/** Share of the heap for unfinished runs; the rest is for work in progress, and for loading all runs at a start. */
const HEAP_SHARE = 0.4;
/** Minimum, even on a tiny heap. */
const RUNS_MIN = 1_000;
/** Interval of the log line that reports a lack of room. */
const TOLD_EVERY_US = 60_000_000;

/** Number of unfinished runs that fit into a heap of this size. */
export function unfinishedRunsIn(heapBytes: number): number {
  return Math.max(RUNS_MIN, Math.floor((heapBytes * HEAP_SHARE) / RUN_BYTES / 1_000) * 1_000);
}

export class RunRoom {
  /** Maximum of unfinished runs. */
  readonly max: number;
  #taken = 0;
  /** Runs that are in the store alone and may come back at any time, each as one usual run. */
  #reserved = 0;
  #toldUs = 0;
  /** When the rerun of a crashed run is due, by the id of that run: the rerun's place is reserved. */
  readonly #reruns = new Map<number, number>();

  constructor(max: number) {
    this.max = max;
  }

  /** Places taken by unfinished runs and pending reruns; large runs take several (memoryUnitsOf). */
  get taken(): number {
    return this.#taken + this.#reserved + this.#reruns.size;
  }

  hasFor(runs: number): boolean {
    return this.taken + runs <= this.max;
  }

  /** Whether the lack of room is to be logged again. */
  isToBeTold(nowUs: number): boolean {
    // The clock may have been set back.
    if (nowUs >= this.#toldUs && nowUs - this.#toldUs < TOLD_EVERY_US) return false;
    this.#toldUs = nowUs;
    return true;
  }

  /** Updates the memory units of a run that was created, changed or ended. */
  count(run: Run): void {
    const units = isEnded(run) ? 0 : memoryUnitsOf(run);
    this.#taken += units - run.memoryUnits;
    run.memoryUnits = units;
  }

  /** Removes a deleted run. */
  forget(run: Run): void {
    this.#taken -= run.memoryUnits;
    run.memoryUnits = 0;
  }

  /** Reserves places for runs that leave memory, or ends reservations. */
  reserve(runs: number): void {
    this.#reserved += runs;
  }

  /** Reserves a place; a run that crashes again has one rerun, that of its newest crash. */
  keepForRerun(crashedRun: number, dueUs: number): void {
    this.#reruns.set(crashedRun, dueUs);
  }

  /** When the rerun of a run is due; undefined without one. */
  rerunDueUs(crashedRun: number): number | undefined {
    return this.#reruns.get(crashedRun);
  }

  /** Ids of the crashed runs that are to be run again. */
  crashedRuns(): number[] {
    return [...this.#reruns.keys()];
  }

  /** Ends the reservation for a rerun, which is created now or never. */
  giveUpRerun(crashedRun: number): void {
    this.#reruns.delete(crashedRun);
  }
}

/** Number of usual runs that take as much memory as this run. */
export function memoryUnitsOf(run: Run): number {
  return 1 + Math.floor(bytesBeyondUsual(run) / RUN_BYTES);
}

function bytesBeyondUsual({ textLength, state, tasks, parentsCount }: Run): number {
  const bytes = textLength + tasks.size * TASK_RUN_BYTES + parentsCount * PARENT_BYTES;
  for (const _ in state.details) return bytes + JSON.stringify(state.details).length;
  return bytes;
}
