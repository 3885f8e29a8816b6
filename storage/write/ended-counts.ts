/**
 * Counts of ended runs and task runs by hour, flow, task name, state type and duration class, and of runs by quarter of an
 * hour and state name: collected during a commit, written once per key.
 */
import type { Primitive } from "#protocol/wire/feed";
import { stateCode } from "../schema/codes.ts";
import { durationClass, NO_DURATION } from "../schema/duration-class.ts";
import type { Statements } from "../sqlite/statements.ts";

export const HOUR_US = 3_600_000_000;
export const QUARTER_US = HOUR_US / 4;

const ADD = `INSERT INTO ended_counts (hour, flow_id, task_name, state_type, duration_class, count) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET count = count + excluded.count`;

const ADD_QUARTER = `INSERT INTO ended_quarters (quarter, state_name, count) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET count = count + excluded.count`;

type Counted = [...key: Primitive[], count: number];

export class EndedCounts {
  readonly #statements: Statements;
  readonly #pending = new Map<string, Counted>();
  readonly #quarters = new Map<string, Counted>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Adds the values of one `count_ended` operation, which start at `at`. */
  add(ops: readonly Primitive[], at: number): void {
    const [endedAt, flow, task, type, duration, delta, name] = ops.slice(at, at + 7);
    const group = typeof duration === "number" ? durationClass(duration) : NO_DURATION;
    const key = [Math.floor(Number(endedAt) / HOUR_US), flow ?? 0, task ?? "", stateCode(type ?? null), group];
    addTo(this.#pending, key, Number(delta));
    if (task === "") addTo(this.#quarters, [Math.floor(Number(endedAt) / QUARTER_US), name ?? ""], Number(delta));
  }

  flush(): void {
    for (const values of this.#pending.values()) this.#statements.raw(ADD).run(...values);
    for (const values of this.#quarters.values()) this.#statements.raw(ADD_QUARTER).run(...values);
    this.rolledBack();
  }

  rolledBack(): void {
    this.#pending.clear();
    this.#quarters.clear();
  }
}

function addTo(counts: Map<string, Counted>, key: Primitive[], delta: number): void {
  const text = key.join("\n");
  const known = counts.get(text);
  if (known === undefined) counts.set(text, [...key, delta]);
  else known[known.length - 1] = Number(known.at(-1)) + delta;
}
