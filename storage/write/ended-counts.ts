/**
 * Counts of ended runs and task runs by hour, flow, task name, state type and duration class, and of runs by quarter of an
 * hour and state name: collected during a commit, written once per key.
 */
import type { Primitive } from "#protocol/wire/feed";
import { stateCode } from "../schema/codes.ts";
import { durationClass, NO_DURATION } from "../schema/duration-class.ts";
import type { Statements } from "../sqlite/statements.ts";
import { positionsOf, valueAt } from "./row-values.ts";

export const HOUR_US = 3_600_000_000;
export const QUARTER_US = HOUR_US / 4;

const ADD = `INSERT INTO ended_counts (hour, flow_id, task_name, state_type, duration_class, count) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (hour, flow_id, task_name, state_type, duration_class)
    DO UPDATE SET count = ended_counts.count + excluded.count`;

const ADD_QUARTER = `INSERT INTO ended_quarters (quarter, state_name, count) VALUES (?, ?, ?)
  ON CONFLICT (quarter, state_name) DO UPDATE SET count = ended_quarters.count + excluded.count`;

const AT = positionsOf("count_ended");

type Counted = [...key: Primitive[], count: number];

export class EndedCounts {
  readonly #statements: Statements;
  /** New in each commit, see ADR 47. */
  #pending = new Map<string, Counted>();
  #quarters = new Map<string, Counted>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Adds the values of one `count_ended` operation, which start at `at`. */
  add(ops: readonly Primitive[], at: number): void {
    const endedAt = valueAt(ops, at, AT.ended_at);
    const task = valueAt(ops, at, AT.task_name);
    const duration = valueAt(ops, at, AT.duration);
    const delta = valueAt(ops, at, AT.delta);
    const state = stateCode(valueAt(ops, at, AT.state_type));
    const group = duration === null ? NO_DURATION : durationClass(duration);
    addTo(this.#pending, [Math.floor(endedAt / HOUR_US), valueAt(ops, at, AT.flow_id), task, state, group], delta);
    if (task !== "") return;
    addTo(this.#quarters, [Math.floor(endedAt / QUARTER_US), valueAt(ops, at, AT.state_name)], delta);
  }

  flush(): void {
    for (const values of this.#pending.values()) this.#statements.raw(ADD).run(...values);
    for (const values of this.#quarters.values()) this.#statements.raw(ADD_QUARTER).run(...values);
    this.rolledBack();
  }

  rolledBack(): void {
    this.#pending = new Map();
    this.#quarters = new Map();
  }
}

function addTo(counts: Map<string, Counted>, key: Primitive[], delta: number): void {
  const text = key.join("\n");
  const known = counts.get(text);
  if (known === undefined) counts.set(text, [...key, delta]);
  else known[known.length - 1] = Number(known.at(-1)) + delta;
}
