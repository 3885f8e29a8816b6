/** Simulated time: clocks that move only when told, and an agenda of what is to happen at which moment. */
import { PriorityQueue } from "#actors/dispatcher/priority-queue";
import type { Clock } from "#runtime/clock";
import type { Alarm } from "#runtime/timers";

/** Wall time at the start of every simulation. */
const EPOCH_US = 1_750_000_000_000_000;

/** No sum of the other steps comes near to it. */
const LONG_STEP_US = 86_400_000_000;

interface Appointment {
  dueUs: number;
  order: number;
  run: (() => void) | null;
}

export class SimulatedTime implements Clock {
  #monotonicUs = 1_000_000;
  #wallOffsetUs = EPOCH_US;
  #sleptUs = 0;
  #longStepUs: number | null = null;
  #longShiftUs = 0;
  #order = 0;
  #newestUs = 0;
  readonly #agenda = new PriorityQueue<Appointment>((a, b) => a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.order < b.order));

  nowUs(): number {
    return this.#monotonicUs + this.#wallOffsetUs;
  }

  monotonicUs(): number {
    return this.#monotonicUs;
  }

  /** Time since the machine was started, its sleep included. */
  bootUs(): number {
    return this.#monotonicUs + this.#sleptUs;
  }

  /** When the wall clock was last set by a day or more, by the time since boot; null before. */
  get longStepUs(): number | null {
    return this.#longStepUs;
  }

  /** By how much all steps of a day or more together have set the wall clock. */
  get longShiftUs(): number {
    return this.#longShiftUs;
  }

  /** The latest wall time there was: what was decided before the clock was set back is still on its way. */
  get newestUs(): number {
    return Math.max(this.#newestUs, this.nowUs());
  }

  advance(byUs: number): void {
    this.#monotonicUs += byUs;
  }

  /** The wall clock is set; waiting goes on undisturbed. */
  stepWallClock(byUs: number): void {
    if (Math.abs(byUs) >= LONG_STEP_US) {
      this.#longStepUs = this.bootUs();
      this.#longShiftUs += byUs;
    }
    this.#setAhead(byUs);
  }

  #setAhead(byUs: number): void {
    this.#newestUs = this.newestUs;
    this.#wallOffsetUs += byUs;
  }

  /** The machine sleeps: time passes on every clock but that of its processes. */
  sleep(us: number): void {
    this.#sleptUs += us;
    this.#setAhead(us);
  }

  /** Does something after a delay; the result takes it back. */
  after(delayUs: number, run: () => void): () => void {
    this.#order += 1;
    const appointment: Appointment = { dueUs: this.#monotonicUs + Math.max(0, delayUs), order: this.#order, run };
    this.#agenda.push(appointment);
    return () => {
      appointment.run = null;
    };
  }

  /** When the next appointment is due, or null. */
  nextDueUs(): number | null {
    for (let first = this.#agenda.peek(); first !== undefined; first = this.#agenda.peek()) {
      if (first.run !== null) return first.dueUs;
      this.#agenda.pop();
    }
    return null;
  }

  isDue(): boolean {
    const dueUs = this.nextDueUs();
    return dueUs !== null && dueUs <= this.#monotonicUs;
  }

  /** Runs the first appointment that is due. */
  keepAppointment(): void {
    if (!this.isDue()) return;
    this.#agenda.pop()?.run?.();
  }

  /** What a thread wakes by. */
  createAlarm(): Alarm {
    let cancel: (() => void) | null = null;
    const clear = (): void => {
      cancel?.();
      cancel = null;
    };
    return {
      clear,
      set: (delayUs, wake) => {
        clear();
        cancel = this.after(delayUs, wake);
      },
    };
  }
}
