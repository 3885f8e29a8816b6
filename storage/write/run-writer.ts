/** Rows of runs and task runs: merges all changes of one commit to a row into one statement. */
import type { Primitive } from "#protocol/wire/feed";
import { STRETCH_KIND, stateCode, stretchesOf, stretchOf } from "../schema/codes.ts";
import type { Names } from "../schema/names.ts";
import { CREATED_MARK, joinedMarks, withCommitTime } from "../schema/run-marks.ts";
import type { Statements } from "../sqlite/statements.ts";
import { insertBackfillRuns, TAG_RUNS } from "./backfill-rows.ts";
import type { Counters } from "./counters.ts";
import { insertNewRuns } from "./new-run-rows.ts";
import { COLUMNS, type RowOf, RUN_STATE } from "./ops.ts";
import {
  INSERT_RUN,
  PUT_TASK_RUN,
  SET_LINEAGE,
  SET_TRACEPARENT,
  UPDATE_ENDED_RUN,
  UPDATE_LIVING_RUN,
  UPDATE_RUN,
} from "./row-operations.ts";
import type { RowStatements } from "./row-statements.ts";
import { positionsOf, rowAt, valueAt } from "./row-values.ts";
import { RunTimes } from "./run-times.ts";
import type { Stretches } from "./stretches.ts";

const INSERT = positionsOf("insert_run");
const UPDATE = positionsOf("update_run");
const TASK = positionsOf("put_task_run");

/** Positions of the columns that an update replaces in an insert of the same commit. */
const REPLACED = (Object.keys(RUN_STATE) as (keyof typeof RUN_STATE)[]).map((column) => ({
  from: UPDATE[column],
  to: INSERT[column],
}));

/** Runs whose flow is cached, to know the flow of a task run without a read. */
const FLOWS_REMEMBERED_MAX = 16_384;

/** Ended runs whose last report may follow; forgetting a run only costs a slower update. */
const ENDED_REMEMBERED_MAX = 16_384;

/** The pending change of a run: the row to insert, or where the values of its newest update start in the commit's operations. */
type PendingRun = Primitive[] | number;

export class RunWriter {
  readonly #statements: Statements;
  readonly #rows: RowStatements;
  readonly #counters: Counters;
  readonly #names: Names;
  readonly #stretches: Stretches;
  readonly #times: RunTimes;
  readonly #nowUs: () => number;
  /** The maps of a commit are new in the next one: a cleared map keeps what its tables have held (ADR 47). */
  #runs = new Map<number, PendingRun>();
  /** Where the newest values of each task run start in the commit's operations. */
  #tasks = new Map<number, number>();
  /** Marks of updates that a later update of the same commit replaced. */
  #marks = new Map<number, string>();
  /** Where the values of each run's lineage start in the commit's operations. */
  readonly #lineages: number[] = [];
  readonly #traceparents: number[] = [];
  readonly #flowOfRun = new Map<number, number>();
  /** Runs written as ended. */
  readonly #ended = new Set<number>();

  constructor(
    statements: Statements,
    rows: RowStatements,
    counters: Counters,
    names: Names,
    stretches: Stretches,
    nowUs: () => number,
  ) {
    this.#nowUs = nowUs;
    this.#statements = statements;
    this.#rows = rows;
    this.#counters = counters;
    this.#names = names;
    this.#stretches = stretches;
    this.#times = new RunTimes(statements);
  }

  insertRun(ops: readonly Primitive[], at: number): void {
    const id = valueAt(ops, at, INSERT.id);
    this.#runs.set(id, ops.slice(at, at + COLUMNS.insert_run.length));
    this.rememberFlow(id, valueAt(ops, at, INSERT.flow_id));
  }

  /** Inserts the rows at once, because later operations of the commit may refer to these runs. */
  insertBackfillRuns(ops: readonly Primitive[], at: number): void {
    const row = rowAt("insert_backfill_runs", ops, at);
    const { first_id, count } = row;
    insertBackfillRuns(this.#statements, row, this.#createdNow());
    for (const tag of JSON.parse(row.tags) as string[])
      this.#statements.raw(TAG_RUNS).run(count, this.#names.code(tag), first_id);
    this.#counters.raise("runs", first_id + count - 1);
    for (const stretch of stretchesOf(first_id, count)) this.#times.noteStretch(stretch, row.created_at);
  }

  /** Inserts the rows at once, because later operations of the commit may refer to these runs. Returns the flow of each run. */
  insertNewRuns(row: RowOf<"insert_new_runs">): number[] {
    const { first_id, count } = row;
    const rows = insertNewRuns(this.#statements, row, this.#createdNow());
    for (const [index, [, , , , tags]] of rows.entries()) this.#writeTags(first_id + index, tags);
    this.#counters.raise("runs", first_id + count - 1);
    for (const stretch of stretchesOf(first_id, count)) this.#times.noteStretch(stretch, row.created_at);
    return rows.map(([flow]) => flow);
  }

  updateRun(ops: readonly Primitive[], at: number): void {
    const id = valueAt(ops, at, UPDATE.id);
    const pending = this.#runs.get(id);
    const marks = this.#pendingMarks(id, ops, pending);
    if (!Array.isArray(pending)) {
      if (marks !== null) this.#marks.set(id, marks);
      this.#runs.set(id, at);
      return;
    }
    for (const { from, to } of REPLACED) pending[to] = ops[at + from] ?? null;
    pending[INSERT.marks] = joinedMarks(marks, valueAt(ops, at, UPDATE.marks));
  }

  /** Kept until the flush, because the run may be inserted by a later operation of the commit. */
  setLineage(at: number): void {
    this.#lineages.push(at);
  }

  /** Kept until the flush likewise. */
  setTraceparent(at: number): void {
    this.#traceparents.push(at);
  }

  putTaskRun(ops: readonly Primitive[], at: number): void {
    this.#tasks.set(valueAt(ops, at, TASK.id), at);
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
    this.#runs = new Map();
    if (this.#marks.size > 0) this.#marks = new Map();
    for (const at of this.#lineages) this.#rows.run(SET_LINEAGE, ops, at);
    this.#lineages.length = 0;
    for (const at of this.#traceparents) this.#rows.run(SET_TRACEPARENT, ops, at);
    this.#traceparents.length = 0;
    this.#times.flush();
    for (const [id, at] of this.#tasks) this.#writeTaskRun(id, ops, at);
    this.#tasks = new Map();
  }

  rolledBack(): void {
    this.#runs = new Map();
    this.#marks = new Map();
    this.#tasks = new Map();
    this.#lineages.length = 0;
    this.#traceparents.length = 0;
    this.#flowOfRun.clear();
    this.#times.rolledBack();
  }

  /** The marks in the pending change of a run. */
  #pendingMarks(id: number, ops: readonly Primitive[], pending: PendingRun | undefined): string | null {
    if (pending === undefined) return null;
    if (Array.isArray(pending)) return valueAt(pending, 0, INSERT.marks);
    return joinedMarks(this.#marks.get(id) ?? null, valueAt(ops, pending, UPDATE.marks));
  }

  /** The marks of runs whose rows are inserted together. */
  #createdNow(): string {
    return withCommitTime(CREATED_MARK, this.#nowUs());
  }

  #writeInsert(id: number, values: Primitive[]): void {
    const marks = valueAt(values, 0, INSERT.marks);
    if (marks !== null) values[INSERT.marks] = withCommitTime(marks, this.#nowUs());
    this.#rows.run(INSERT_RUN, values, 0);
    this.#counters.raise("runs", id);
    this.#raiseLeases(valueAt(values, 0, INSERT.assignment_id));
    this.#times.note(id, valueAt(values, 0, INSERT.start_time) ?? valueAt(values, 0, INSERT.created_at));
    this.#writeTags(id, valueAt(values, 0, INSERT.tags));
  }

  #writeUpdate(id: number, ops: readonly Primitive[], at: number): void {
    const marks = this.#pendingMarks(id, ops, at);
    if (marks === null) return this.#runUpdate(id, ops, at);
    // Copied, because a batch that is sent again has its own values.
    const values = ops.slice(at, at + COLUMNS.update_run.length);
    values[UPDATE.marks] = withCommitTime(marks, this.#nowUs());
    this.#runUpdate(id, values, 0);
  }

  #runUpdate(id: number, ops: readonly Primitive[], at: number): void {
    this.#raiseLeases(valueAt(ops, at, UPDATE.assignment_id));
    const start = valueAt(ops, at, UPDATE.start_time);
    if (start !== null) this.#times.note(id, start);
    if (valueAt(ops, at, UPDATE.end_time) === null) {
      if (this.#rows.run(UPDATE_LIVING_RUN, ops, at) > 0) return;
    } else {
      // An engine reports once more after the end of its run.
      if (this.#ended.delete(id) && this.#rows.run(UPDATE_ENDED_RUN, ops, at) > 0) return;
      if (this.#ended.size >= ENDED_REMEMBERED_MAX) this.#ended.clear();
      this.#ended.add(id);
    }
    this.#rows.run(UPDATE_RUN, ops, at);
  }

  /**
   * Raises the lease counter: an assignment is numbered like a lease, even when it holds no resources and has no row. It may
   * have ended within the commit that began it.
   */
  #raiseLeases(assignment: number | null): void {
    if (assignment !== null) this.#counters.raise("leases", assignment);
  }

  #writeTags(run: number, tags: string | null): void {
    if (tags === null || tags === "[]") return;
    for (const tag of JSON.parse(tags) as string[])
      this.#statements
        .raw("INSERT INTO run_tags (tag, run_id) VALUES (?, ?) ON CONFLICT DO NOTHING")
        .run(this.#names.code(tag), run);
  }

  #writeTaskRun(id: number, ops: readonly Primitive[], at: number): void {
    this.#rows.run(PUT_TASK_RUN, ops, at);
    this.#counters.raise("task_runs", id);
    const stretch = stretchOf(id);
    const flow = this.#flow(valueAt(ops, at, TASK.run_id));
    if (flow !== null) this.#stretches.note(STRETCH_KIND.task_flow, flow, stretch);
    const type = valueAt(ops, at, TASK.state_type);
    const name = valueAt(ops, at, TASK.state_name);
    if (valueAt(ops, at, TASK.end_time) !== null) this.#stretches.note(STRETCH_KIND.task_state, stateCode(type), stretch);
    if (name !== type) this.#stretches.note(STRETCH_KIND.task_state_name, this.#names.code(name), stretch);
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
