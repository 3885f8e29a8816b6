/**
 * Remembers where rules last crashed. Survives restarts, so that an event or timer that crashes the actors each time is
 * skipped instead of ending the server. After two crashes at the same point, the failure is only recorded; if recording
 * crashes too, the point is skipped without a record for its rule. `millrace doctor` lists what was skipped.
 */
import type { Turn } from "../../core/turn.ts";
import { RULE_ENGINE } from "../../names.ts";

/** Crashes at one point after which it is skipped. */
const CRASHES_MAX = 2;

export class Quarantine {
  #point = "";
  #crashes = 0;
  #error = "";

  /**
   * Runs `work`, or `record` at a point that has crashed too often; returns null, or the error of the skipped work. Crashes
   * propagate to the caller.
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

/** Quarantine.run within a step; stores what was skipped. */
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
  turn.rows.put("insert_quarantine", { actor: RULE_ENGINE, subject, error, created_at: turn.nowUs });
}
