/** Nothing is deleted by age within a day of uptime after the clock was set by a day or more, unless the clock was accepted. */
import type { Request } from "../model-gateway.ts";
import type { SimulatedTime } from "../simulated-time.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Operation } from "./checker.ts";

const RULE = "a wrong clock deletes nothing";
const DAY_US = 86_400_000_000;
/** Decisions from before the step may be committed this late: stalls of links and refusals of the store take less. */
const UNDER_WAY_US = 20_000_000;
const BY_AGE: ReadonlySet<string> = new Set(["trim_history", "delete_idempotency"]);

export class RetentionChecker implements Checker {
  readonly #time: SimulatedTime;
  /** Time since boot when the clock was last accepted. */
  #acceptedUs = Number.NEGATIVE_INFINITY;
  /** Whether acceptance of the clock was requested but has not taken effect. */
  #acceptanceAsked = false;
  /** Whether the server has stored the step. */
  #isNoticed = false;
  /** Time since boot when the server first stored the clocks: a clock set before that counts as right. */
  #knownSinceUs: number | null = null;

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  submitted(_id: number, { kind }: Request): void {
    if (kind === "AcceptClock") this.#acceptanceAsked = true;
  }

  answered({ request, status }: Answer): void {
    if (request.kind === "AcceptClock" && status === 200) this.#acceptedUs = this.#time.bootUs();
  }

  operation(operation: Operation): void {
    const { name } = operation;
    if (name === "put_clock") {
      const wasNoticed = this.#isNoticed;
      this.#isNoticed = operation.get("step") !== null;
      // The acceptance takes effect in this commit; its answer, and deletions of the same commit, follow.
      if (wasNoticed && !this.#isNoticed && this.#acceptanceAsked) {
        this.#acceptanceAsked = false;
        this.#acceptedUs = this.#time.bootUs();
      }
      this.#knownSinceUs ??= this.#time.bootUs();
    }
    // A clock that was wrong only while no core checked it is right again.
    if (this.#time.longShiftUs === 0 && !this.#isNoticed) return;
    const steppedUs = this.#time.longStepUs;
    if (!BY_AGE.has(name) || steppedUs === null || this.#acceptedUs >= steppedUs) return;
    if (steppedUs <= (this.#knownSinceUs ?? Number.POSITIVE_INFINITY)) return;
    const passedUs = this.#time.bootUs() - steppedUs;
    if (passedUs > UNDER_WAY_US && passedUs < DAY_US)
      throw new Violation(RULE, `${name} ${Math.round(passedUs / 1e6)} s after the clock was set`);
  }
}
