/** Simulated time: clocks that only move on request, and an agenda of future actions. */
import { PriorityQueue } from "#actors/core/state/priority-queue";
import type { Clock } from "#runtime/clock";
import type { Alarm } from "#runtime/timers";

/** Wall time at the start of every simulation. */
const EPOCH_US = 1_750_000_000_000_000;

/** At least twice as large as any sum of the other steps. */
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
  /** Time since boot at which each sleep began, and its length. */
  readonly #sleeps: { beganUs: number; us: number }[] = [];
  readonly #longStepsUs: number[] = [];
  #order = 0;
  #newestUs = 0;
  readonly #agenda = new PriorityQueue<Appointment>((a, b) => a.dueUs < b.dueUs || (a.dueUs === b.dueUs && a.order < b.order));

  nowUs(): number {
    return this.#monotonicUs + this.#wallOffsetUs;
  }

  monotonicUs(): number {
    return this.#monotonicUs;
  }

  /** Time since boot, including sleep of the machine. */
  bootUs(): number {
    return this.#monotonicUs + this.#sleptUs;
  }

  /** How long the machine has been awake since this time since boot. */
  awakeSinceUs(bootUs: number): number {
    const sleptUs = this.#sleeps.reduce((sum, { beganUs, us }) => (beganUs >= bootUs ? sum + us : sum), 0);
    return this.bootUs() - bootUs - sleptUs;
  }

  /** Times since boot when the wall clock was set by a day or more, oldest first. */
  get longStepsUs(): readonly number[] {
    return this.#longStepsUs;
  }

  /** The latest wall time reached: decisions from before the clock was set back may still be on their way. */
  get newestUs(): number {
    return Math.max(this.#newestUs, this.nowUs());
  }

  advance(byUs: number): void {
    this.#monotonicUs += byUs;
  }

  /** Sets the wall clock; waits are unaffected. */
  stepWallClock(byUs: number): void {
    if (Math.abs(byUs) >= LONG_STEP_US) this.#longStepsUs.push(this.bootUs());
    this.#setAhead(byUs);
  }

  #setAhead(byUs: number): void {
    this.#newestUs = this.newestUs;
    this.#wallOffsetUs += byUs;
  }

  /** The machine sleeps: time passes on every clock except that of its processes. */
  sleep(us: number): void {
    this.#sleeps.push({ beganUs: this.bootUs(), us });
    this.#sleptUs += us;
    this.#setAhead(us);
  }

  /** Runs an action after a delay; the returned function cancels it. */
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

  /** Runs the first due action. */
  keepAppointment(): void {
    if (!this.isDue()) return;
    this.#agenda.pop()?.run?.();
  }

  /** The alarm of a thread. */
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
