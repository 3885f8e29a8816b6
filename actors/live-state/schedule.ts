/** A schedule in memory, and the book of all schedules: by flow, and in the order in which they must be looked at. */
import type { CatchupPolicy } from "#protocol/schedule";
import { PriorityQueue } from "../dispatcher/priority-queue.ts";
import type { Fires } from "../scheduler/fires.ts";
import type { StoredSpec } from "../scheduler/spec.ts";
import type { Flow } from "./flow.ts";
import type { Run } from "./run.ts";

/** A fire that a person skipped. */
export interface Skip {
  /** "ui" or "api"; "delete" for a fire whose run was deleted: it gets no other. */
  by: string;
  at: number;
}

export interface Schedule {
  id: number;
  external_id: string;
  flow: Flow;
  spec: StoredSpec;
  fires: Fires;
  catchup: CatchupPolicy;
  catchup_max: number;
  active: boolean;
  paused_reason: string | null;
  /** When a disable window ends; null otherwise. */
  paused_until: number | null;
  source: string;
  code_key: string | null;
  persist: boolean;
  created_at: number;
  updated_at: number;
  /** The next fire that will run; null while inactive or when there is none. */
  next_fire: number | null;
  /**
   * Every fire up to here is decided: run, skipped or dropped. It only grows, unless a clock that was ahead is accepted after it
   * was set right.
   */
  consumed_until: number;
  /** What it decided ahead of the clock is to be put right when it comes up next. */
  isAhead: boolean;
  /** Skipped fires that are still to come. */
  skips: Map<number, Skip>;
  /** Runs of fires that are still to come. */
  runs: Map<number, Run>;
  /** Fires still to come whose runs have ended and left memory. */
  ended: Set<number>;
  /** When it must be looked at: its next fire, or the end of a disable window. */
  dueUs: number | null;
}

interface Entry {
  schedule: Schedule;
  dueUs: number;
}

export class ScheduleBook {
  readonly #schedules = new Map<number, Schedule>();
  readonly #byFlow = new Map<number, Set<Schedule>>();
  readonly #due = new PriorityQueue<Entry>((a, b) => a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.schedule.id < b.schedule.id));
  /** Times of the latest failures of flows with a disable window. */
  readonly failures = new Map<number, number[]>();

  get(id: number): Schedule | undefined {
    return this.#schedules.get(id);
  }

  /** Every schedule, in order of id. */
  all(): Schedule[] {
    return [...this.#schedules.values()].sort((a, b) => a.id - b.id);
  }

  /** The schedules of a flow in order of id. */
  of(flow: Flow): Schedule[] {
    return [...(this.#byFlow.get(flow.id) ?? [])].sort((a, b) => a.id - b.id);
  }

  /** Whether another schedule of the flow has a run for a moment. */
  hasOtherRun(schedule: Schedule, fire: number): boolean {
    for (const other of this.#byFlow.get(schedule.flow.id) ?? []) if (other !== schedule && other.runs.has(fire)) return true;
    return false;
  }

  add(schedule: Schedule): void {
    this.#schedules.set(schedule.id, schedule);
    const ofFlow = this.#byFlow.get(schedule.flow.id) ?? new Set();
    this.#byFlow.set(schedule.flow.id, ofFlow.add(schedule));
  }

  remove(schedule: Schedule): void {
    this.#schedules.delete(schedule.id);
    this.#byFlow.get(schedule.flow.id)?.delete(schedule);
    schedule.dueUs = null;
  }

  removeFlow(flow: Flow): void {
    for (const schedule of this.of(flow)) this.remove(schedule);
    this.#byFlow.delete(flow.id);
    this.failures.delete(flow.id);
  }

  /** Says when a schedule must be looked at next. */
  setDue(schedule: Schedule, dueUs: number | null): void {
    if (schedule.dueUs === dueUs) return;
    schedule.dueUs = dueUs;
    if (dueUs !== null) this.#due.push({ schedule, dueUs });
  }

  nextDueUs(): number | null {
    for (let first = this.#due.peek(); first !== undefined; first = this.#due.peek()) {
      if (first.schedule.dueUs === first.dueUs) return first.dueUs;
      this.#due.pop();
    }
    return null;
  }

  /** Takes the first schedule that is due; whoever handles it says when it is due again. */
  takeDue(nowUs: number): Schedule | undefined {
    const dueUs = this.nextDueUs();
    if (dueUs === null || dueUs > nowUs) return undefined;
    const schedule = this.#due.pop()?.schedule;
    if (schedule !== undefined) schedule.dueUs = null;
    return schedule;
  }

  /** Whether a run waits for its schedule to decide its fire. */
  holds(run: Run): boolean {
    const schedule = this.#schedules.get(run.schedule_id ?? 0);
    // Reruns are of a schedule and of no fire.
    return schedule !== undefined && run.scheduled_time !== null && run.scheduled_time > schedule.consumed_until;
  }

  /** A run that had ended is unfinished again: it is that of its fire, if that is still to come. */
  revive(run: Run): void {
    const schedule = this.#schedules.get(run.schedule_id ?? 0);
    if (schedule === undefined || run.scheduled_time === null || !this.holds(run)) return;
    schedule.runs.set(run.scheduled_time, run);
    schedule.ended.delete(run.scheduled_time);
  }

  /** Whether the fire of a run is decided: then it is due, also when the clock was set back since. */
  hasDecided(run: Run): boolean {
    const schedule = this.#schedules.get(run.schedule_id ?? 0);
    return schedule !== undefined && run.scheduled_time !== null && run.scheduled_time <= schedule.consumed_until;
  }
}
