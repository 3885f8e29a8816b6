/** The highest id assigned in each table, so that ids are never reused: read once, written once per commit. */
import { COUNTED, type Counted } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";

export type CounterValues = Record<Counted, number>;

const READ = "SELECT name, value FROM counters";

/** Writes this number of counters. */
function writeOf(count: number): string {
  const rows = Array.from({ length: count }, () => "(?, ?)").join(", ");
  return `INSERT INTO counters (name, value) VALUES ${rows} ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}

const WRITE = COUNTED.map((_name, index) => writeOf(index + 1));

/** The stored values; 0 for a table that never had a row. */
export function readCounters(statements: Statements): CounterValues {
  const values = Object.fromEntries(COUNTED.map((name) => [name, 0])) as CounterValues;
  for (const [name, value] of statements.raw<[Counted, number]>(READ).all()) values[name] = value;
  return values;
}

export class Counters {
  readonly #statements: Statements;
  #values: CounterValues;
  #stored: CounterValues;

  constructor(statements: Statements) {
    this.#statements = statements;
    this.#values = readCounters(statements);
    this.#stored = { ...this.#values };
  }

  get(name: Counted): number {
    return this.#values[name];
  }

  /** Records that this id was assigned. */
  raise(name: Counted, id: number): void {
    if (id > this.#values[name]) this.#values[name] = id;
  }

  /** Assigns `count` ids and returns the first. */
  take(name: Counted, count: number): number {
    const first = this.#values[name] + 1;
    this.#values[name] += count;
    return first;
  }

  /** Writes the changed counters; `committed` or `rolledBack` must follow. */
  write(): void {
    const changed = COUNTED.filter((name) => this.#values[name] !== this.#stored[name]);
    const sql = WRITE[changed.length - 1];
    if (sql !== undefined) this.#statements.raw(sql).run(...changed.flatMap((name) => [name, this.#values[name]]));
  }

  committed(): void {
    this.#stored = { ...this.#values };
  }

  rolledBack(): void {
    this.#values = { ...this.#stored };
  }
}
