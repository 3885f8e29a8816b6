/**
 * The store writer: commits batches to the store, each as one transaction.
 *
 * A commit is durable as a whole or not. The writer's numbers (events, log lines, stream) and caches follow: they are kept
 * after a commit and reset after a rollback.
 *
 * SQLite only: PRAGMA (nothing: there is no WAL to copy), BEGIN IMMEDIATE (BEGIN, with one writer), zeroblob
 * (any write that is rolled back).
 */
import type { Primitive } from "#protocol/wire/feed";
import type { CommitRequest, CommitResult, Owner } from "../port.ts";
import { COUNT_KIND, stateCode } from "../schema/codes.ts";
import { keptEvent } from "../schema/kept-answer.ts";
import type { LogBlocks } from "../schema/log-blocks.ts";
import { Names } from "../schema/names.ts";
import type { Database } from "../sqlite/driver.ts";
import { Statements } from "../sqlite/statements.ts";
import { StorageError, toStorageError } from "../sqlite/storage-error.ts";
import { commandsOf } from "./batch.ts";
import { Counters } from "./counters.ts";
import { deleteFlow, deleteRun } from "./delete-rows.ts";
import { EndedCounts } from "./ended-counts.ts";
import { EventWriter } from "./event-writer.ts";
import { MemberRow } from "./member-row.ts";
import { COLUMNS, OPERATION_NAMES, type OperationName, type RowOf } from "./ops.ts";
import { ROW_OPERATIONS, type RowOperation, type RowOperationName } from "./row-operations.ts";
import { RowStatements } from "./row-statements.ts";
import { positionsOf, rowAt, valueAt } from "./row-values.ts";
import { RunWriter } from "./run-writer.ts";
import { Stretches } from "./stretches.ts";
import { trimHistory } from "./trim-history.ts";

export interface WriterOptions {
  /**
   * Where stream numbers continue: when the process starts, at a block above all earlier blocks, so that any number from
   * before the start is recognised as old; when only the writer restarts, at the next number.
   */
  stream: "new_block" | "continue";
  /** The owner that the writer continues, when only the writer restarts. */
  former?: Owner | null;
  /** The wall clock, for the time of a commit in the marks of runs. */
  nowUs(): number;
}

/** Stream numbers reserved for one process start. */
const STREAM_BLOCK = 2 ** 32;

const INSERT_BLOCK = "INSERT INTO log_blocks (id, run_id, attempt, count, level_mask, lines) VALUES (?, ?, ?, ?, ?, ?)";
const ADD_COUNT = `INSERT INTO counts (flow_id, kind, state_type, count) VALUES (?, ?, ?, ?)
  ON CONFLICT (flow_id, kind, state_type) DO UPDATE SET count = counts.count + excluded.count`;

const PUT_EVENT_CHAIN = "INSERT INTO event_chains (event_id, depth) VALUES (?, ?)";

const WIDTHS: readonly number[] = OPERATION_NAMES.map((name) => COLUMNS[name].length);
const COUNT = positionsOf("count_runs");
const CHAIN = positionsOf("put_event_chain");
const IDEMPOTENCY = positionsOf("put_idempotency");

interface CountDelta {
  flow: number;
  kind: number;
  state: number;
  delta: number;
}

export class Writer {
  readonly #database: Database;
  readonly #statements: Statements;
  readonly #rows: RowStatements;
  readonly #counters: Counters;
  readonly #names: Names;
  readonly #stretches: Stretches;
  readonly #runs: RunWriter;
  readonly #events: EventWriter;
  readonly #member: MemberRow;
  readonly #ended: EndedCounts;
  /** New after each commit, see ADR 47. */
  #counts = new Map<string, CountDelta>();
  readonly #deletedFlows = new Set<number>();

  constructor(database: Database, options: WriterOptions) {
    this.#database = database;
    this.#statements = new Statements(database);
    this.#member = new MemberRow(this.#statements, options.former ?? null);
    this.#rows = new RowStatements(database);
    this.#counters = new Counters(this.#statements);
    this.#names = new Names(this.#statements);
    this.#stretches = new Stretches(this.#statements);
    this.#runs = new RunWriter(this.#statements, this.#rows, this.#counters, this.#names, this.#stretches, options.nowUs);
    this.#events = new EventWriter(this.#statements, this.#counters, this.#names, this.#stretches);
    this.#ended = new EndedCounts(this.#statements);
    if (options.stream === "new_block") this.#startStreamBlock();
  }

  /** Id of the next log line; the log writer starts there. */
  get nextLogId(): number {
    return this.#counters.get("logs") + 1;
  }

  get owner(): Owner {
    return this.#member.owner;
  }

  /** Number of the newest commit. */
  get number(): number {
    return this.#member.number;
  }

  /** Commands decided by the newest commit, whose answers may not have been sent. */
  get decidedCommands(): number[] {
    return this.#member.commands();
  }

  /** The highest stream number assigned. */
  get latestSeq(): number {
    return this.#counters.get("stream");
  }

  /** Commits the batch as one transaction; throws a StorageError when nothing was committed. */
  commit(request: CommitRequest): CommitResult {
    try {
      // A batch that is already committed is answered without a commit, even while the store rejects writes.
      const repeated = this.#member.find(request.batch.number);
      if (repeated !== null) return repeated;
      this.#database.exec("BEGIN IMMEDIATE");
      const result = this.#apply(request);
      this.#database.exec("COMMIT");
      this.#settle(true);
      return result;
    } catch (error) {
      this.#settle(false);
      throw toStorageError(error);
    }
  }

  /** Copies the WAL into the database file as far as readers allow. */
  checkpoint(): void {
    this.#database.pragma("wal_checkpoint(PASSIVE)");
  }

  /** True when the store accepts writes again; tested with a write that leaves no row. */
  probe(): boolean {
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      this.#statements.raw("INSERT INTO settings (name, value) VALUES ('probe', hex(zeroblob(8192)))").run();
      this.#statements.raw("DELETE FROM settings WHERE name = 'probe'").run();
      this.#database.exec("COMMIT");
      return true;
    } catch {
      this.#settle(false);
      return false;
    }
  }

  #startStreamBlock(): void {
    const start = (Math.floor(this.#counters.get("stream") / STREAM_BLOCK) + 1) * STREAM_BLOCK;
    this.#counters.raise("stream", start);
    try {
      this.#member.forgetCommands();
      this.#counters.write();
      this.#counters.committed();
    } catch (error) {
      throw toStorageError(error);
    }
  }

  #settle(committed: boolean): void {
    if (!committed) {
      if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
      this.#counts = new Map();
      this.#runs.rolledBack();
      this.#events.rolledBack();
      this.#stretches.rolledBack();
      this.#ended.rolledBack();
    }
    if (this.#deletedFlows.size > 0) this.#deletedFlows.clear();
    for (const part of [this.#counters, this.#names, this.#member]) {
      if (committed) part.committed();
      else part.rolledBack();
    }
  }

  #apply({ batch, logs }: CommitRequest): CommitResult {
    const first_event_id = this.#counters.get("events") + 1;
    const first_seq = this.#counters.take("stream", batch.stream.length / 2);
    const result = { number: batch.number, first_event_id, logs: logs.appended, first_seq };
    // First, so that a commit of a former owner does nothing.
    this.#member.write(result, commandsOf(batch));
    this.#applyLogs(logs);
    this.#events.received(batch.received_us ?? null);
    this.#applyOps(batch.ops);
    this.#flush(batch.ops);
    this.#flushCounts();
    this.#ended.flush();
    this.#counters.write();
    return result;
  }

  #applyLogs(logs: LogBlocks): void {
    for (const block of logs.blocks) {
      const { id, run_id, attempt, count, level_mask, lines } = block;
      if (id - count < this.#counters.get("logs"))
        throw new StorageError("operation", `log line ids up to ${id} were given before`);
      this.#statements.raw(INSERT_BLOCK).run(id, run_id, attempt, count, level_mask, lines);
      this.#counters.raise("logs", id);
    }
  }

  #applyOps(ops: readonly Primitive[]): void {
    for (let at = 0; at < ops.length; ) {
      const code = Number(ops[at]);
      const name = OPERATION_NAMES[code];
      const width = WIDTHS[code];
      if (name === undefined || width === undefined || at + width >= ops.length)
        throw new StorageError("operation", `operation ${String(ops[at])} at ${at} is not complete`);
      this.#applyOp(name, ops, at + 1);
      at += width + 1;
    }
  }

  #applyOp(name: OperationName, ops: readonly Primitive[], at: number): void {
    switch (name) {
      case "insert_run":
        this.#runs.insertRun(ops, at);
        break;
      case "insert_backfill_runs":
        this.#runs.insertBackfillRuns(ops, at);
        break;
      case "insert_new_runs":
        this.#insertNewRuns(rowAt(name, ops, at));
        break;
      case "update_run":
        this.#runs.updateRun(ops, at);
        break;
      case "set_lineage":
        this.#runs.setLineage(at);
        break;
      case "set_traceparent":
        this.#runs.setTraceparent(at);
        break;
      case "put_task_run":
        this.#runs.putTaskRun(ops, at);
        break;
      case "insert_event":
        this.#events.insert(ops, at);
        break;
      case "insert_run_events":
        this.#events.insertForRuns(ops, at);
        break;
      case "count_runs":
      case "count_task_runs":
        this.#addCount(name === "count_runs" ? COUNT_KIND.runs : COUNT_KIND.task_runs, ops, at);
        break;
      case "delete_run":
        this.#flush(ops);
        deleteRun(this.#statements, rowAt(name, ops, at).id);
        break;
      case "delete_flow":
        this.#flush(ops);
        this.#deleteFlow(rowAt(name, ops, at).id);
        break;
      case "set_run_creator":
        // The run may be an insert still pending in this commit.
        this.#flush(ops);
        this.#applyRow(name, ops, at);
        break;
      case "trim_history":
        this.#flush(ops);
        trimHistory(this.#statements, rowAt(name, ops, at));
        break;
      case "count_ended":
        this.#ended.add(ops, at);
        break;
      case "put_event_chain":
        this.#statements.raw(PUT_EVENT_CHAIN).run(this.#counters.get("events"), valueAt(ops, at, CHAIN.depth));
        break;
      case "put_idempotency":
        this.#keepAnswer(ops, at);
        break;
      default:
        this.#applyRow(name, ops, at);
    }
  }

  #applyRow(name: RowOperationName, ops: readonly Primitive[], at: number): void {
    const operation: RowOperation = ROW_OPERATIONS[name];
    this.#rows.run(operation, ops, at);
    const { counted } = operation;
    if (counted !== null) this.#counters.raise(counted.name, Number(ops[at + counted.id]));
  }

  #insertNewRuns(row: RowOf<"insert_new_runs">): void {
    this.#events.insertForNewRuns(row, this.#runs.insertNewRuns(row));
  }

  #deleteFlow(id: number): void {
    this.#deletedFlows.add(id);
    deleteFlow(this.#statements, id);
  }

  /** A body that is null stands for the event inserted last: store its id, which only the writer knows. */
  #keepAnswer(ops: readonly Primitive[], at: number): void {
    const values = ops.slice(at, at + COLUMNS.put_idempotency.length);
    values[IDEMPOTENCY.body] ??= keptEvent(this.#counters.get("events"));
    this.#applyRow("put_idempotency", values, 0);
  }

  #addCount(kind: number, ops: readonly Primitive[], at: number): void {
    const flow = valueAt(ops, at, COUNT.flow_id);
    const state = stateCode(valueAt(ops, at, COUNT.state_type));
    const delta = valueAt(ops, at, COUNT.delta);
    const key = `${flow}:${kind}:${state}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { flow, kind, state, delta });
    else known.delta += delta;
  }

  #flush(ops: readonly Primitive[]): void {
    this.#runs.flush(ops);
    this.#events.flush();
  }

  #flushCounts(): void {
    for (const { flow, kind, state, delta } of this.#counts.values())
      if (!this.#deletedFlows.has(flow)) this.#statements.raw(ADD_COUNT).run(flow, kind, state, delta);
    this.#counts = new Map();
  }
}
