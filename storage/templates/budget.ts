/**
 * What rendering may cost: units of work, spent before they are done. Counted and not timed, so that the same template ends
 * at the same point on every machine.
 */
import { TemplateFailure } from "./values.ts";

/** Work for the texts of one action: a unit takes some 100 to 200 ns, so this ends within some 50 ms. */
export const WORK_MAX = 250_000;
/** Characters that are copied, compared or searched through for one unit. */
const CHARACTERS_PER_UNIT = 16;
/** Deepest nesting of values: what JSON may have, and as much again for what a template builds around it. */
const VALUE_DEPTH_MAX = 256;

export class Budget {
  #spent = 0;

  get spent(): number {
    return this.#spent;
  }

  spend(units: number): void {
    this.#spent += units;
    if (!(this.#spent <= WORK_MAX)) throw new TemplateFailure("takes too much work");
  }

  spendText(length: number): void {
    this.spend(length / CHARACTERS_PER_UNIT);
  }

  /**
   * Spends what looking at every part of a value costs. A part that is there several times counts each time: whoever prints
   * or compares the value meets it as often.
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
