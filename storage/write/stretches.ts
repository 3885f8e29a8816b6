/** Writes the coarse index: which values occur in which stretch of ids, one row per value and stretch. */
import type { Statements } from "../sqlite/statements.ts";

const NOTE = "INSERT INTO stretches (kind, value, stretch) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";

/** Kinds are below this. */
const KINDS = 8;

/** Stretches cached, so that a repeated value costs no statement; evicting one only costs a repeated insert. */
const REMEMBERED_MAX = 256;

export class Stretches {
  readonly #statements: Statements;
  readonly #seen = new Map<number, Set<number>>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  note(kind: number, value: number, stretch: number): void {
    const key = stretch * KINDS + kind;
    let values = this.#seen.get(key);
    if (values === undefined) {
      if (this.#seen.size >= REMEMBERED_MAX) this.#seen.clear();
      values = new Set();
      this.#seen.set(key, values);
    }
    if (values.has(value)) return;
    values.add(value);
    this.#statements.raw(NOTE).run(kind, value, stretch);
  }

  rolledBack(): void {
    this.#seen.clear();
  }
}
