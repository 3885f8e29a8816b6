/** WHERE terms that combine with AND, and their values in order. */
import type { SqlValue } from "../driver.ts";

export class Conditions {
  readonly #terms: string[] = [];
  readonly values: SqlValue[] = [];

  add(term: string, ...values: SqlValue[]): this {
    this.#terms.push(term);
    this.values.push(...values);
    return this;
  }

  /** The terms joined; TRUE when there are none. */
  get sql(): string {
    return this.#terms.length === 0 ? "TRUE" : this.#terms.join(" AND ");
  }

  get empty(): boolean {
    return this.#terms.length === 0;
  }

  copy(): Conditions {
    const copy = new Conditions();
    copy.#terms.push(...this.#terms);
    copy.values.push(...this.values);
    return copy;
  }
}

/** A LIKE pattern that finds the text anywhere, wildcards taken literally (ESCAPE '\'); LIKE ignores the case of ASCII letters. */
export function containsPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
}
