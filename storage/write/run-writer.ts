/** Rows of runs and task runs: merges all changes of one commit to a row into one statement. */
import type { Primitive } from "#protocol/wire/feed";
import { STRETCH_KIND, stateCode, stretchesOf, stretchOf } from "../schema/codes.ts";
import type { Names } from "../schema/names.ts";
import type { Statements } from "../sqlite/statements.ts";
import { insertBackfillRuns, readBackfillRuns, TAG_RUNS } from "./backfill-rows.ts";
import type { Counters } from "./counters.ts";
import { OPERATIONS } from "./ops.ts";
import { encode, INSERT_RUN, PUT_TASK_RUN, UPDATE_LIVING_RUN, UPDATE_RUN } from "./row-operations.ts";
import { RunTimes } from "./run-times.ts";
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

/** The pending change of a run: the row to insert, or where the values of its newest update start in the commit's operations. */
type PendingRun = Primitive[] | number;

export class RunWriter {
  readonly #statements: Statements;
  readonly #counters: Counters;
  readonly #names: Names;
  readonly #stretches: Stretches;
  readonly #times: RunTimes;
  readonly #runs = new Map<number, PendingRun>();
  /** Where the newest values of each task run start in the commit's operations. */
  readonly #tasks = new Map<number, number>();
  readonly #flowOfRun = new Map<number, number>();

  constructor(statements: Statements, counters: Counters, names: Names, stretches: Stretches) {
    this.#statements = statements;
    this.#counters = counters;
    this.#names = names;
    this.#stretches = stretches;
    this.#times = new RunTimes(statements);
  }

  insertRun(ops: readonly Primitive[], at: number): void {
    this.#runs.set(Number(ops[at]), ops.slice(at, at + OPERATIONS.insert_run.length));
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

  updateRun(ops: readonly Primitive[], at: number): void {
    const id = Number(ops[at]);
    const pending = this.#runs.get(id);
    if (!Array.isArray(pending)) {
      this.#runs.set(id, at);
      return;
    }
    for (let index = 1; index < OPERATIONS.update_run.length; index++)
      pending[INSERT.state_type + index - 1] = ops[at + index] ?? null;
  }

  putTaskRun(ops: readonly Primitive[], at: number): void {
    this.#tasks.set(Number(ops[at]), at);
  }

  /** Caches the flow of a run; events call this too, which saves a later read. */
  rememberFlow(run: number, flow: number): void {
    if (this.#flowOfRun.size >= FLOWS_REMEMBERED_MAX) this.#flowOfRun.clear();
    this.#flowOfRun.set(run, flow);
  }

  /** Writes the pending rows; `ops` are the operations of the commit. */
  flush(ops: readonly Primitive[]): void {
    for (const [id, pending] of this.#runs) {
      if (Array.isArray(pending)) this.#writeInsert(id, pending);
      else this.#writeUpdate(id, ops, pending);
    }
    this.#runs.clear();
    this.#times.flush();
    for (const [id, at] of this.#tasks) this.#writeTaskRun(id, ops, at);
    this.#tasks.clear();
  }

  rolledBack(): void {
    this.#runs.clear();
    this.#tasks.clear();
    this.#flowOfRun.clear();
    this.#times.rolledBack();
  }

  #writeInsert(id: number, values: readonly Primitive[]): void {
    this.#statements.raw(INSERT_RUN.sql).run(...encode(INSERT_RUN.encoders, values, 0));
    this.#counters.raise("runs", id);
    this.#raiseLeases(values[INSERT.assignment_id] ?? null);
    this.#times.note(id, Number(values[INSERT.start_time] ?? values[INSERT.created_at]));
    this.#writeTags(id, values[INSERT.tags] ?? null);
  }

  #writeUpdate(id: number, ops: readonly Primitive[], at: number): void {
    this.#raiseLeases(ops[at + UPDATE.assignment_id] ?? null);
    const start = ops[at + UPDATE.start_time] ?? null;
    if (start !== null) this.#times.note(id, Number(start));
    if (ops[at + UPDATE.end_time] === null) {
      const bound = encode(UPDATE_LIVING_RUN.encoders, ops, at);
      if (this.#statements.raw(UPDATE_LIVING_RUN.sql).run(...bound).changes > 0) return;
    }
    this.#statements.raw(UPDATE_RUN.sql).run(...encode(UPDATE_RUN.encoders, ops, at));
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

  #writeTaskRun(id: number, ops: readonly Primitive[], at: number): void {
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
