/** How late the event loop of a thread serves a timer: the delay that a request or message meets there too. */
import type { Clock } from "./clock.ts";
import { Durations } from "./durations.ts";

/** Time between two samples. */
const SAMPLE_MS = 20;

export class LoopDelay {
  readonly delays = new Durations();
  readonly #timer: NodeJS.Timeout;

  constructor(clock: Clock) {
    let lastUs = clock.monotonicUs();
    this.#timer = setInterval(() => {
      const nowUs = clock.monotonicUs();
      this.delays.add(nowUs - lastUs - SAMPLE_MS * 1e3);
      lastUs = nowUs;
    }, SAMPLE_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
