/**
 * WHERE terms combined with AND, and their values in order.
 *
 * SQLite only: instr (strpos), LIKE (ILIKE: it ignores the case of ASCII letters).
 */
import type { SqlValue } from "../sqlite/driver.ts";

export class Conditions {
  readonly #terms: string[] = [];
  readonly values: SqlValue[] = [];

  add(term: string, ...values: SqlValue[]): this {
    this.#terms.push(term);
    this.values.push(...values);
    return this;
  }

  /** The terms joined; TRUE without any. */
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

/** A test that the column contains the text; the case of ASCII letters is ignored. */
export interface Containment {
  sql: string;
  value: string;
}

/** LIKE is faster, but reads a text only up to its first NUL. */
export function contains(column: string, text: string): Containment {
  return text.includes("\0")
    ? { sql: `instr(lower(${column}), lower(?)) > 0`, value: text }
    : { sql: `${column} LIKE ? ESCAPE '\\'`, value: `%${text.replaceAll(/[\\%_]/g, "\\$&")}%` };
}

export function addContains(conditions: Conditions, column: string, text: string): void {
  const { sql, value } = contains(column, text);
  conditions.add(sql, value);
}
