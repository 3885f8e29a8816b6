/** Rows of runs and task runs: merges all changes of one commit to a row into one statement. */
import type { Primitive } from "#protocol/feed";
import { insertBackfillRuns, readBackfillRuns, TAG_RUNS } from "./backfill-rows.ts";
import { STRETCH_KIND, stateCode, stretchesOf, stretchOf } from "./codes.ts";
import type { Counters } from "./counters.ts";
import type { Names } from "./names.ts";
import { OPERATIONS } from "./ops.ts";
import { encode, INSERT_RUN, PUT_TASK_RUN, UPDATE_LIVING_RUN, UPDATE_RUN } from "./row-operations.ts";
import { RunTimes } from "./run-times.ts";
import type { Statements } from "./statements.ts";
import type { Stretches } from "./stretches.ts";

const INSERT = position(OPERATIONS.insert_run, [
  "flow_id",
  "tags",
  "state_type",
  "created_at",
  "start_time",
  "assignment_id",
] as const);
const UPDATE = position(OPERATIONS.update_run, ["start_time", "end_time", "assignment_id"] as const);
const TASK = position(OPERATIONS.put_task_run, ["run_id", "state_type", "state_name", "end_time"] as const);

/** Runs whose flow is cached, to know the flow of a task run without a read. */
const FLOWS_REMEMBERED_MAX = 16_384;

function position<C extends string>(columns: readonly string[], wanted: readonly C[]): Record<C, number> {
  return Object.fromEntries(wanted.map((column) => [column, columns.indexOf(column)])) as Record<C, number>;
}

/** The pending changes of one commit to one row; `at` is where the values start in `ops`. */
interface PendingRun {
  insert: Primitive[] | null;
  ops: readonly Primitive[];
  at: number;
  batch: number;
}

interface PendingTask {
  ops: readonly Primitive[];
  at: number;
  batch: number;
}

export class RunWriter {
  readonly #statements: Statements;
  readonly #counters: Counters;
  readonly #names: Names;
  readonly #stretches: Stretches;
  readonly #times: RunTimes;
  readonly #runs = new Map<number, PendingRun>();
  readonly #tasks = new Map<number, PendingTask>();
  readonly #flowOfRun = new Map<number, number>();
  /** Number of the batch whose row is being written; an error names it. */
  batch = 0;

  constructor(statements: Statements, counters: Counters, names: Names, stretches: Stretches) {
    this.#statements = statements;
    this.#counters = counters;
    this.#names = names;
    this.#stretches = stretches;
    this.#times = new RunTimes(statements);
  }

  insertRun(ops: readonly Primitive[], at: number, batch: number): void {
    const values = ops.slice(at, at + OPERATIONS.insert_run.length);
    this.#runs.set(Number(ops[at]), { insert: values, ops, at: -1, batch });
    this.rememberFlow(Number(ops[at]), Number(ops[at + INSERT.flow_id]));
  }

  /** Inserts the rows at once, because later operations of the commit may refer to these runs. */
  insertBackfillRuns(ops: readonly Primitive[], at: number): void {
    const rows = readBackfillRuns(ops, at);
    const { firstId, count } = rows;
    insertBackfillRuns(this.#statements, rows);
    for (const tag of rows.tags) this.#statements.raw(TAG_RUNS).run(count, this.#names.code(tag), firstId);
    this.#counters.raise("runs", firstId + count - 1);
    for (const stretch of stretchesOf(firstId, count)) this.#times.noteStretch(stretch, rows.createdAt);
  }

  updateRun(ops: readonly Primitive[], at: number, batch: number): void {
    const id = Number(ops[at]);
    const pending = this.#runs.get(id);
    if (pending === undefined) {
      this.#runs.set(id, { insert: null, ops, at, batch });
    } else if (pending.insert === null) {
      pending.ops = ops;
      pending.at = at;
      pending.batch = batch;
    } else {
      for (let index = 1; index < OPERATIONS.update_run.length; index++)
        pending.insert[INSERT.state_type + index - 1] = ops[at + index] ?? null;
    }
  }

  putTaskRun(ops: readonly Primitive[], at: number, batch: number): void {
    this.#tasks.set(Number(ops[at]), { ops, at, batch });
  }

  /** Caches the flow of a run; events call this too, which saves a later read. */
  rememberFlow(run: number, flow: number): void {
    if (this.#flowOfRun.size >= FLOWS_REMEMBERED_MAX) this.#flowOfRun.clear();
    this.#flowOfRun.set(run, flow);
  }

  flush(): void {
    for (const [id, pending] of this.#runs) this.#writeRun(id, pending);
    this.#runs.clear();
    this.#times.flush();
    for (const [id, pending] of this.#tasks) this.#writeTaskRun(id, pending);
    this.#tasks.clear();
  }

  rolledBack(): void {
    this.#runs.clear();
    this.#tasks.clear();
    this.#flowOfRun.clear();
    this.#times.rolledBack();
  }

  #writeRun(id: number, pending: PendingRun): void {
    this.batch = pending.batch;
    if (pending.insert !== null) {
      this.#statements.raw(INSERT_RUN.sql).run(...encode(INSERT_RUN.encoders, pending.insert, 0));
      this.#counters.raise("runs", id);
      this.#raiseLeases(pending.insert[INSERT.assignment_id] ?? null);
      this.#times.note(id, Number(pending.insert[INSERT.start_time] ?? pending.insert[INSERT.created_at]));
      this.#writeTags(id, pending.insert[INSERT.tags] ?? null);
      return;
    }
    this.#raiseLeases(pending.ops[pending.at + UPDATE.assignment_id] ?? null);
    const start = pending.ops[pending.at + UPDATE.start_time] ?? null;
    if (start !== null) this.#times.note(id, Number(start));
    if (pending.ops[pending.at + UPDATE.end_time] === null) {
      const bound = encode(UPDATE_LIVING_RUN.encoders, pending.ops, pending.at);
      if (this.#statements.raw(UPDATE_LIVING_RUN.sql).run(...bound).changes > 0) return;
    }
    this.#statements.raw(UPDATE_RUN.sql).run(...encode(UPDATE_RUN.encoders, pending.ops, pending.at));
  }

  /**
   * Raises the lease counter: an assignment is numbered like a lease, even when it holds no resources and has no row. The
   * number is negative after the end of the assignment, possibly within the commit that began it.
   */
  #raiseLeases(assignment: Primitive): void {
    if (typeof assignment === "number") this.#counters.raise("leases", Math.abs(assignment));
  }

  #writeTags(run: number, tags: Primitive): void {
    if (typeof tags !== "string" || tags === "[]") return;
    for (const tag of JSON.parse(tags) as string[])
      this.#statements.raw("INSERT OR IGNORE INTO run_tags (tag, run_id) VALUES (?, ?)").run(this.#names.code(tag), run);
  }

  #writeTaskRun(id: number, pending: PendingTask): void {
    const { ops, at } = pending;
    this.batch = pending.batch;
    this.#statements.raw(PUT_TASK_RUN.sql).run(...encode(PUT_TASK_RUN.encoders, ops, at));
    this.#counters.raise("task_runs", id);
    const stretch = stretchOf(id);
    const flow = this.#flow(Number(ops[at + TASK.run_id]));
    if (flow !== null) this.#stretches.note(STRETCH_KIND.task_flow, flow, stretch);
    const type = ops[at + TASK.state_type] ?? null;
    const name = ops[at + TASK.state_name] ?? null;
    if (ops[at + TASK.end_time] !== null) this.#stretches.note(STRETCH_KIND.task_state, stateCode(type), stretch);
    if (typeof name === "string" && name !== type)
      this.#stretches.note(STRETCH_KIND.task_state_name, this.#names.code(name), stretch);
  }

  #flow(run: number): number | null {
    const known = this.#flowOfRun.get(run);
    if (known !== undefined) return known;
    const row = this.#statements.raw<[number]>("SELECT flow_id FROM runs WHERE id = ?").get(run);
    if (row === undefined) return null;
    this.rememberFlow(run, row[0]);
    return row[0];
  }
}
