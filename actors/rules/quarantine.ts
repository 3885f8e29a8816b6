/**
 * Where rules crashed last. It outlives restarts, so that an event or timer that crashes the actors each time is passed instead
 * of ending the server. Two crashes at one point are no accident: from then on it is only recorded; should that crash as well,
 * it is passed without a word of its rule. `millrace doctor` tells what was passed.
 */
import { putOperation } from "#storage/ops";
import { RULES } from "../names.ts";
import type { Turn } from "../turn.ts";

/** Crashes at one point after which it is not tried again. */
const CRASHES_MAX = 2;

export class Quarantine {
  #point = "";
  #crashes = 0;
  #error = "";

  /**
   * Does `work`, or what stands in for it at a point where it has crashed; returns null, or the error of the work that was not
   * done. Crashes go on to the caller.
   */
  run(point: string, work: () => void, record: (error: string) => void): string | null {
    const crashes = this.#point === point ? this.#crashes : 0;
    try {
      if (crashes < CRASHES_MAX) work();
      else if (crashes === CRASHES_MAX) record(this.#error);
      return crashes < CRASHES_MAX ? null : this.#error;
    } catch (cause) {
      this.#point = point;
      this.#crashes = crashes + 1;
      this.#error = cause instanceof Error ? cause.message : String(cause);
      throw cause;
    }
  }
}

/** As Quarantine.run, within a step; notes in the store what is passed. */
export function runGuarded(
  turn: Turn,
  quarantine: Quarantine,
  point: string,
  work: () => void,
  record: (error: string) => void,
): void {
  const error = quarantine.run(point, work, record);
  if (error !== null) notePassed(turn, point, error);
}

export function notePassed(turn: Turn, subject: string, error: string): void {
  putOperation(turn.decision.ops, "insert_quarantine", RULES, subject, error, turn.nowUs);
}
