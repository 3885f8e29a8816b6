/** A schedule in memory, and the book of all schedules: by flow, and by due time. */
import type { CatchupPolicy } from "#protocol/records/schedule";
import type { JsonMap } from "#protocol/values/scalar";
import type { Fires } from "../../scheduler/recurrence/fires.ts";
import type { StoredSpec } from "../../scheduler/recurrence/spec.ts";
import type { Flow } from "./flow.ts";
import { PriorityQueue } from "./priority-queue.ts";
import type { Run } from "./run.ts";

/** A fire that a person skipped. */
export interface Skip {
  /** "ui" or "api"; "delete" for a fire whose run was deleted and which gets no other run. */
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
  /** Of the runs, as they were sent; null without any. */
  parameters: JsonMap | null;
  active: boolean;
  paused_reason: string | null;
  /** The end of a disable window, else null. */
  paused_until: number | null;
  source: string;
  code_key: string | null;
  persist: boolean;
  created_at: number;
  updated_at: number;
  /** The next fire that will run; null while inactive or if there is none. */
  next_fire: number | null;
  /**
   * Every fire up to this time is decided: run, skipped or dropped. Only grows, unless a clock that was ahead is corrected
   * and accepted.
   */
  consumed_until: number;
  /** True when fires were decided while the clock was ahead: correct that when the schedule next comes due. */
  isAhead: boolean;
  /** Skips of future fires. */
  skips: Map<number, Skip>;
  /** Runs of future fires. */
  runs: Map<number, Run>;
  /** Future fires whose runs have ended and left memory. */
  ended: Set<number>;
  /** When the schedule has to be checked: at its next fire, or at the end of a disable window. */
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

  /** All schedules, in order of id. */
  all(): Schedule[] {
    return [...this.#schedules.values()].sort((a, b) => a.id - b.id);
  }

  /** The schedules of a flow, in order of id. */
  of(flow: Flow): Schedule[] {
    return [...(this.#byFlow.get(flow.id) ?? [])].sort((a, b) => a.id - b.id);
  }

  /** Whether another schedule of the flow has a run for the same time. */
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

  /** Sets when a schedule has to be checked next. */
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

  /** Takes the first due schedule; its handler sets the next due time. */
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
    // Reruns have a schedule but no fire.
    return schedule !== undefined && run.scheduled_time !== null && run.scheduled_time > schedule.consumed_until;
  }

  /** An ended run is unfinished again: it becomes the run of its fire, if that fire is in the future. */
  revive(run: Run): void {
    const schedule = this.#schedules.get(run.schedule_id ?? 0);
    if (schedule === undefined || run.scheduled_time === null || !this.holds(run)) return;
    schedule.runs.set(run.scheduled_time, run);
    schedule.ended.delete(run.scheduled_time);
  }

  /** Whether the fire of a run is decided: then the run is due, even if the clock was set back since. */
  hasDecided(run: Run): boolean {
    const schedule = this.#schedules.get(run.schedule_id ?? 0);
    return schedule !== undefined && run.scheduled_time !== null && run.scheduled_time <= schedule.consumed_until;
  }
}
