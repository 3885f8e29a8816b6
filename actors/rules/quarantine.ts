/**
 * Where rules crashed last. It outlives restarts, so that an event or timer that crashes the actors each time is passed instead
 * of ending the server. Two crashes at one point are no accident: from then on it is only recorded; should that crash as well,
 * it is passed without a word.
 */

/** Crashes at one point after which it is not tried again. */
const CRASHES_MAX = 2;

export class Quarantine {
  #point = "";
  #crashes = 0;
  #error = "";

  /** Does `work`, or what stands in for it at a point where it has crashed. Crashes go on to the caller. */
  run(point: string, work: () => void, record: (error: string) => void): void {
    const crashes = this.#point === point ? this.#crashes : 0;
    try {
      if (crashes < CRASHES_MAX) work();
      else if (crashes === CRASHES_MAX) record(this.#error);
    } catch (cause) {
      this.#point = point;
      this.#crashes = crashes + 1;
      this.#error = cause instanceof Error ? cause.message : String(cause);
      throw cause;
    }
  }
}
