/** Nothing is deleted by age within a day of uptime after the clock was set by a day or more, unless the clock was accepted. */
import type { Request } from "../model-gateway.ts";
import type { SimulatedTime } from "../simulated-time.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Operation } from "./checker.ts";

const RULE = "a wrong clock deletes nothing";
const DAY_US = 86_400_000_000;
/** Decisions from before the step may be committed after this much waking time: stalls of links and refusals of the store take less. */
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
  /** Wall clock minus time since boot, as the server last stored it; null before. */
  #storedAheadUs: number | null = null;
  /** Time since boot of the last step that this difference shows; null without one, and for steps before the first row. */
  #storedStepUs: number | null = null;

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
    if (name === "put_clock") this.#stored(operation);
    if (!BY_AGE.has(name)) return;
    const steppedUs = this.#steppedUs();
    if (steppedUs === null || this.#acceptedUs >= steppedUs) return;
    const passedUs = this.#time.bootUs() - steppedUs;
    if (this.#time.awakeSinceUs(steppedUs) > UNDER_WAY_US && passedUs < DAY_US)
      throw new Violation(RULE, `${name} ${Math.round(passedUs / 1e6)} s after the clock was set`);
  }

  #stored(operation: Operation): void {
    const wasNoticed = this.#isNoticed;
    this.#isNoticed = operation.get("step") !== null;
    // The acceptance takes effect in this commit; its answer, and deletions of the same commit, follow.
    if (wasNoticed && !this.#isNoticed && this.#acceptanceAsked) {
      this.#acceptanceAsked = false;
      this.#acceptedUs = this.#time.bootUs();
    }
    const aheadUs = operation.number("ahead");
    const isStep = this.#storedAheadUs !== null && isLongStep(aheadUs - this.#storedAheadUs);
    const seenUs = operation.number("boot_time");
    if (isStep) this.#storedStepUs = this.#time.longStepsUs.findLast((steppedUs) => steppedUs <= seenUs) ?? null;
    this.#storedAheadUs = aheadUs;
  }

  /**
   * When the clock was last set; null if it was not. A step that was reversed before the server stored it does not count: the
   * clock is then as right as before.
   */
  #steppedUs(): number | null {
    if (this.#storedAheadUs === null) return null;
    const aheadUs = this.#time.nowUs() - this.#time.bootUs();
    return isLongStep(aheadUs - this.#storedAheadUs) ? (this.#time.longStepsUs.at(-1) ?? null) : this.#storedStepUs;
  }
}

/** Whether a change of the clock contains a step of a day or more, rather than shorter steps alone. */
function isLongStep(us: number): boolean {
  return Math.abs(us) > DAY_US / 2;
}
