/** Time that advances only when a test requests it. */
import type { Alarm } from "#runtime/timers";

export class ManualTime {
  nowUs = 1_000_000_000;
  readonly #alarms: { dueUs: number; wake: () => void }[] = [];

  now = (): number => this.nowUs;

  alarm(): Alarm {
    let mine: { dueUs: number; wake: () => void } | null = null;
    const clear = () => {
      if (mine !== null && this.#alarms.includes(mine)) this.#alarms.splice(this.#alarms.indexOf(mine), 1);
      mine = null;
    };
    return {
      clear,
      set: (delayUs, wake) => {
        clear();
        mine = { dueUs: this.nowUs + delayUs, wake };
        this.#alarms.push(mine);
      },
    };
  }

  /** Number of set alarms. */
  get armed(): number {
    return this.#alarms.length;
  }

  /** Advances the time, firing due alarms in order. */
  pass(us: number): void {
    const endUs = this.nowUs + us;
    for (;;) {
      this.#alarms.sort((a, b) => a.dueUs - b.dueUs);
      const first = this.#alarms[0];
      if (first === undefined || first.dueUs > endUs) break;
      this.#alarms.shift();
      this.nowUs = Math.max(this.nowUs, first.dueUs);
      first.wake();
    }
    this.nowUs = endUs;
  }
}
