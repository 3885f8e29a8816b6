/**
 * How long runs wait at each stage, for the metrics. Counted at the decision: the few decisions that a restart of the core undoes
 * stay counted.
 */
import { Durations } from "#runtime/durations";
import type { Run } from "./run.ts";

export class RunDurations {
  /** From the moment a run may start to its hand-out. */
  readonly queueWait = new Durations();
  /** From the hand-out to the start of the run's code. */
  readonly dispatch = new Durations();
  /** From the scheduled time of a run to the first start of its code. */
  readonly lateness = new Durations();
  /** Of runs whose code has not started, by id. */
  readonly #handedOutUs = new Map<number, number>();

  handedOut({ id, movedUs, scheduled_time }: Run, nowUs: number): void {
    this.queueWait.add(nowUs - Math.max(movedUs, scheduled_time ?? 0));
    this.#handedOutUs.set(id, nowUs);
  }

  /** Called before the run has a start time. */
  started({ id, scheduled_time, start_time }: Run, nowUs: number): void {
    if (start_time === null && scheduled_time !== null) this.lateness.add(nowUs - scheduled_time);
    const handedOutUs = this.#handedOutUs.get(id);
    if (handedOutUs === undefined) return;
    this.#handedOutUs.delete(id);
    this.dispatch.add(nowUs - handedOutUs);
  }

  /** The assignment has ended. */
  released({ id }: Run): void {
    this.#handedOutUs.delete(id);
  }

  /** The state was loaded again, in which other runs may be handed out. */
  reloaded(): void {
    this.#handedOutUs.clear();
  }
}
