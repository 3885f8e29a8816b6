/**
 * The cost limit of rendering: units of work, spent before the work is done. Work is counted, not timed, so that a template
 * fails at the same point on every machine.
 */
import { TemplateFailure } from "./values.ts";

/** Work for the texts of one action: a unit takes 100 to 200 ns, so about 50 ms at most. */
export const WORK_MAX = 250_000;
/** Characters copied, compared or searched per unit. */
const CHARACTERS_PER_UNIT = 16;
/** Deepest nesting of values: the limit of JSON, and as much again for what a template builds around it. */
const VALUE_DEPTH_MAX = 256;

export class Budget {
  readonly #max: number;
  #spent = 0;

  constructor(max = WORK_MAX) {
    this.#max = max;
  }

  get spent(): number {
    return this.#spent;
  }

  spend(units: number): void {
    this.#spent += units;
    if (!(this.#spent <= this.#max)) throw new TemplateFailure("takes too much work");
  }

  spendText(length: number): void {
    this.spend(length / CHARACTERS_PER_UNIT);
  }

  /**
   * Spends the cost of visiting every part of a value. A part that occurs several times counts each time, because printing or
   * comparing visits it each time.
   */
  spendValue(value: unknown, depth = 0): void {
    if (depth > VALUE_DEPTH_MAX) throw new TemplateFailure("nested too deeply");
    if (typeof value === "string") return this.spendText(value.length + CHARACTERS_PER_UNIT);
    this.spend(1);
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) for (const each of value) this.spendValue(each, depth + 1);
    else {
      for (const key of Object.keys(value)) {
        this.spendText(key.length);
        this.spendValue((value as Record<string, unknown>)[key], depth + 1);
      }
    }
  }
}
