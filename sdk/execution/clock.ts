/**
 * Time for the SDK, so that tests can substitute a simulated clock.
 */

/** The longest delay of a Node timer: 2^31 - 1 ms, about 24.8 days; longer delays take several timers. */
const TIMER_MS_MAX = 2_147_483_647;

/** How far the monotonic reading may drift from the wall clock before it is anchored again. */
const DRIFT_US_MAX = 50_000;

export interface Clock {
  /** Microseconds since the Unix epoch, UTC. */
  nowUs(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms` milliseconds; the returned function cancels that. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock: monotonic within the process to below a millisecond, and never far from the wall clock. */
export class SystemClock implements Clock {
  /** The same on all threads of the process, and more exact than Date.now(). */
  #anchorUs = performance.timeOrigin * 1000;
  #lastUs = 0;

  nowUs(): number {
    const wallUs = Date.now() * 1000;
    let nowUs = Math.round(this.#anchorUs + performance.now() * 1000);
    if (Math.abs(nowUs - wallUs) > DRIFT_US_MAX) {
      this.#anchorUs = wallUs - performance.now() * 1000;
      nowUs = wallUs;
    } else if (nowUs <= this.#lastUs) {
      nowUs = this.#lastUs + 1;
    }
    this.#lastUs = nowUs;
    return nowUs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  after(ms: number, run: () => void): () => void {
    let timer: NodeJS.Timeout;
    const arm = (left: number) => {
      const step = Math.min(left, TIMER_MS_MAX);
      timer = setTimeout(() => (left > step ? arm(left - step) : run()), step);
    };
    arm(Math.max(0, ms));
    return () => clearTimeout(timer);
  }
}

export const systemClock: Clock = new SystemClock();
