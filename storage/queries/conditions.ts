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

/** That the column holds the text anywhere; the case of ASCII letters is ignored. */
export interface Containment {
  sql: string;
  value: string;
}

/** LIKE is the faster one, but reads texts up to their first NUL only. */
export function contains(column: string, text: string): Containment {
  return text.includes("\0")
    ? { sql: `instr(lower(${column}), lower(?)) > 0`, value: text }
    : { sql: `${column} LIKE ? ESCAPE '\\'`, value: `%${text.replaceAll(/[\\%_]/g, "\\$&")}%` };
}

export function addContains(conditions: Conditions, column: string, text: string): void {
  const { sql, value } = contains(column, text);
  conditions.add(sql, value);
}
