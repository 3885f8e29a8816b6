/** Counts of what ended, by hour, flow, task name, state type and class of duration: collected in a commit, written once per key. */
import type { Primitive } from "#protocol/feed";
import { stateCode } from "./codes.ts";
import { durationClass, NO_DURATION } from "./duration-class.ts";
import type { Statements } from "./statements.ts";

export const HOUR_US = 3_600_000_000;

const ADD = `INSERT INTO ended_counts (hour, flow_id, task_name, state_type, duration_class, count) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET count = count + excluded.count`;

export class EndedCounts {
  readonly #statements: Statements;
  readonly #pending = new Map<string, [...key: Primitive[], count: number]>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Takes the values of one `count_ended` operation, which start at `at`. */
  add(ops: readonly Primitive[], at: number): void {
    const [endedAt, flow, task, type, duration, delta] = ops.slice(at, at + 6);
    const group = typeof duration === "number" ? durationClass(duration) : NO_DURATION;
    const key = [Math.floor(Number(endedAt) / HOUR_US), flow ?? 0, task ?? "", stateCode(type ?? null), group];
    const text = key.join("\n");
    const known = this.#pending.get(text);
    if (known === undefined) this.#pending.set(text, [...key, Number(delta)]);
    else known[known.length - 1] = Number(known.at(-1)) + Number(delta);
  }

  flush(): void {
    for (const values of this.#pending.values()) this.#statements.raw(ADD).run(...values);
    this.#pending.clear();
  }

  rolledBack(): void {
    this.#pending.clear();
  }
}
