/**
 * The room for unfinished runs. The core holds every run that has not ended in memory, whether it waits, runs or is paused, so
 * their number is bounded: beyond it whoever asks for a run is refused, and a run that nobody asks for ends when it is created.
 *
 * The bound is a number of runs. What a run holds beyond the usual (tags, parameters, details of its state, task runs) counts
 * as further runs, so that the bound is one of memory.
 */
import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import { isEnded, type Run } from "./run.ts";

/** Memory of a run with short names that waits, while many are being created. */
const RUN_BYTES = 1_600;
/** Memory of a task run, and of the id of one of its parents. */
const TASK_RUN_BYTES = 800;
const PARENT_BYTES = 64;
/** The part of the heap that unfinished runs may take; the rest is for work under way, and for reading them all at a start. */
const HEAP_SHARE = 0.4;
/** Even a tiny heap takes so many. */
const RUNS_MIN = 1_000;
/** How often the server's log says that there is no room. */
const TOLD_EVERY_US = 60_000_000;

/** How many unfinished runs fit into a heap of this size. */
export function unfinishedRunsIn(heapBytes: number): number {
  return Math.max(RUNS_MIN, Math.floor((heapBytes * HEAP_SHARE) / RUN_BYTES / 1_000) * 1_000);
}

export class RunRoom {
  /** The most runs that may be unfinished. */
  readonly max: number;
  #taken = 0;
  #toldUs = 0;
  /** Crashed runs that are about to be run again: their reruns have their place. */
  readonly #reruns = new Set<number>();

  constructor(max: number) {
    this.max = max;
  }

  /** Runs that are unfinished or about to be run again, large ones as several. */
  get taken(): number {
    return this.#taken + this.#reruns.size;
  }

  hasFor(runs: number): boolean {
    return this.taken + runs <= this.max;
  }

  /** Whether it is time to say once more that there is no room. */
  isToBeTold(nowUs: number): boolean {
    // The clock may have been set back.
    if (nowUs >= this.#toldUs && nowUs - this.#toldUs < TOLD_EVERY_US) return false;
    this.#toldUs = nowUs;
    return true;
  }

  /** Counts a run anew after it was created, changed or ended. */
  count(run: Run): void {
    const places = isEnded(run) ? 0 : placesOf(run);
    this.#taken += places - run.places;
    run.places = places;
  }

  /** A run is no more. */
  forget(run: Run): void {
    this.#taken -= run.places;
    run.places = 0;
  }

  keepForRerun(crashedRun: number): void {
    this.#reruns.add(crashedRun);
  }

  /** The rerun is created now, or never. */
  giveUpRerun(crashedRun: number): void {
    this.#reruns.delete(crashedRun);
  }
}

/** How many usual runs would take as much memory. */
export function placesOf(run: Run): number {
  return 1 + Math.floor(bytesBeyondUsual(run) / RUN_BYTES);
}

function bytesBeyondUsual({ name, tags, parametersText, state, tasks, parentsCount }: Run): number {
  let bytes = name.length + tasks.size * TASK_RUN_BYTES + parentsCount * PARENT_BYTES;
  // Larger parameters are in the store alone.
  if (parametersText !== null && parametersText.length <= PARAMETERS_IN_MEMORY_BYTES_MAX) bytes += parametersText.length;
  for (const tag of tags) bytes += tag.length;
  for (const _ in state.details) return bytes + JSON.stringify(state.details).length;
  return bytes;
}
