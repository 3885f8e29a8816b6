/**
 * Rows of events: assigns ids in commit order, inserts several rows per statement and writes the coarse index.
 *
 * SQLite only: min or max of values (least, greatest).
 */
import type { Primitive } from "#protocol/wire/feed";
import { STRETCH_KIND, stateCode, stretchesOf, stretchOf } from "../schema/codes.ts";
import type { Names } from "../schema/names.ts";
import { NUMBERS } from "../schema/numbers.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { Counters } from "./counters.ts";
import { COLUMNS, type RowOf } from "./ops.ts";
import { encoded, encodersOf } from "./row-operations.ts";
import { positionsOf, rowAt, valueAt } from "./row-values.ts";
import type { Stretches } from "./stretches.ts";

/** Columns stored as they come; the writer gives the id and the code of the name. */
const GIVEN = COLUMNS.insert_event.filter((column) => column !== "name");
const ENCODERS = encodersOf("insert_event", GIVEN);
const STORED = ["id", "name", ...GIVEN];
const AT = positionsOf("insert_event");

/** Rows per statement: a call costs as much as binding about ten values. */
const ROWS_PER_INSERT = 8;

/** The text that inserts this number of rows with the columns whose bit is set; the others are NULL in all of the rows. */
function insertOf(rows: number, present: number): string {
  const columns = STORED.filter((_column, index) => isIn(present, index));
  const row = `(${columns.map(() => "?").join(", ")})`;
  return `INSERT INTO events (${columns.join(", ")}) VALUES ${Array.from({ length: rows }, () => row).join(", ")}`;
}

function isIn(columns: number, index: number): boolean {
  return (columns & (1 << index)) !== 0;
}

const INSERT_FOR_RUNS = `${NUMBERS}
  INSERT INTO events (id, name, occurred, run_id, flow_id, state_type) SELECT ? + i, ?, ?, ? + i, ?, ? FROM numbers`;
const INSERT_OF_STORED = `INSERT INTO events (id, name, occurred, run_id, flow_id, state_type)
  SELECT ? + id, ?, ?, id, flow_id, state_type FROM runs WHERE id BETWEEN ? AND ? ORDER BY id`;
const CHAIN_FOR_RUNS = `${NUMBERS} INSERT INTO event_chains (event_id, depth) SELECT ? + i, ? FROM numbers`;

const PUT_TIMES = `INSERT INTO event_times (stretch, occurred_min, occurred_max, received_max, log_id) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (stretch) DO UPDATE SET occurred_min = min(occurred_min, excluded.occurred_min),
    occurred_max = max(occurred_max, excluded.occurred_max),
    received_max = max(coalesce(received_max, excluded.received_max), excluded.received_max), log_id = excluded.log_id`;

interface Times {
  stretch: number;
  min: number;
  max: number;
}

export class EventWriter {
  readonly #statements: Statements;
  readonly #counters: Counters;
  readonly #names: Names;
  readonly #stretches: Stretches;
  readonly #texts = new Map<number, string>();
  #bound: Primitive[] = [];
  #times: Times = { stretch: -1, min: 0, max: 0 };
  #receivedUs: number | null = null;

  constructor(statements: Statements, counters: Counters, names: Names, stretches: Stretches) {
    this.#statements = statements;
    this.#counters = counters;
    this.#names = names;
    this.#stretches = stretches;
  }

  /** When the core decided the following operations; null if unknown: the events' own times are used then. */
  received(us: number | null): void {
    this.#receivedUs = us;
  }

  /** Inserts the event whose values start at `at`, under the next id. */
  insert(ops: readonly Primitive[], at: number): void {
    const id = this.#counters.take("events", 1);
    const stretch = stretchOf(id);
    const name = this.#names.code(valueAt(ops, at, AT.name));
    this.#bound.push(id, name);
    for (let index = 0; index < ENCODERS.length; index++) this.#bound.push(encoded(ENCODERS[index], ops, at));
    this.#stretches.note(STRETCH_KIND.event_name, name, stretch);
    const flow = valueAt(ops, at, AT.flow_id);
    if (flow !== null) this.#stretches.note(STRETCH_KIND.event_flow, flow, stretch);
    this.#stretches.note(STRETCH_KIND.event_resource, this.#names.code(resourceKind(ops, at)), stretch);
    this.#noteTime(stretch, valueAt(ops, at, AT.occurred));
    if (this.#bound.length === ROWS_PER_INSERT * STORED.length) {
      const bound = this.#bound;
      this.#bound = [];
      this.#insertRows(bound);
    }
  }

  /** Inserts one event for each run of a range, under the next ids. */
  insertForRuns(ops: readonly Primitive[], at: number): void {
    const { name, occurred, first_run_id, count, flow_id, state_type, rule_depth } = rowAt("insert_run_events", ops, at);
    const first = this.#counters.take("events", count);
    const code = this.#names.code(name);
    this.#flushBound();
    this.#statements.raw(INSERT_FOR_RUNS).run(count, first, code, occurred, first_run_id, flow_id, stateCode(state_type));
    if (rule_depth > 0) this.#statements.raw(CHAIN_FOR_RUNS).run(count, first, rule_depth);
    for (const stretch of stretchesOf(first, count)) {
      this.#stretches.note(STRETCH_KIND.event_name, code, stretch);
      this.#stretches.note(STRETCH_KIND.event_flow, flow_id, stretch);
      this.#stretches.note(STRETCH_KIND.event_resource, this.#names.code("run"), stretch);
      this.#noteTime(stretch, occurred);
    }
  }

  /** Inserts the event of the creation of each of these runs, whose rows are stored; `flows` are the flows of the runs. */
  insertForNewRuns(row: RowOf<"insert_new_runs">, flows: readonly number[]): void {
    const { first_id, count, created_at, rule_depth } = row;
    const first = this.#counters.take("events", count);
    const name = this.#names.code("run.scheduled");
    this.#flushBound();
    this.#statements.raw(INSERT_OF_STORED).run(first - first_id, name, created_at, first_id, first_id + count - 1);
    if (rule_depth > 0) this.#statements.raw(CHAIN_FOR_RUNS).run(count, first, rule_depth);
    for (const stretch of stretchesOf(first, count)) {
      this.#stretches.note(STRETCH_KIND.event_name, name, stretch);
      this.#stretches.note(STRETCH_KIND.event_resource, this.#names.code("run"), stretch);
      this.#noteTime(stretch, created_at);
    }
    for (const [index, flow] of flows.entries()) this.#stretches.note(STRETCH_KIND.event_flow, flow, stretchOf(first + index));
  }

  flush(): void {
    this.#flushBound();
    this.#flushTimes();
  }

  rolledBack(): void {
    this.#bound = [];
    this.#times = { stretch: -1, min: 0, max: 0 };
  }

  #flushBound(): void {
    const width = STORED.length;
    const bound = this.#bound;
    this.#bound = [];
    for (let at = 0; at < bound.length; at += width) this.#insertRows(bound.slice(at, at + width));
  }

  /** Inserts rows without the columns that are NULL in all of them (row-statements.ts says why). */
  #insertRows(values: readonly Primitive[]): void {
    const width = STORED.length;
    let present = 0;
    for (let at = 0; at < values.length; at++) if (values[at] !== null) present |= 1 << (at % width);
    const bound = values.filter((_value, at) => isIn(present, at % width));
    this.#statements.raw(this.#insertText(values.length / width, present)).run(...bound);
  }

  #insertText(rows: number, present: number): string {
    const key = present * (ROWS_PER_INSERT + 1) + rows;
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const text = insertOf(rows, present);
    this.#texts.set(key, text);
    return text;
  }

  #noteTime(stretch: number, occurred: number): void {
    const times = this.#times;
    if (times.stretch === stretch) {
      if (occurred < times.min) times.min = occurred;
      if (occurred > times.max) times.max = occurred;
      return;
    }
    this.#flushTimes();
    this.#times = { stretch, min: occurred, max: occurred };
  }

  #flushTimes(): void {
    const { stretch, min, max } = this.#times;
    if (stretch < 0) return;
    this.#statements.raw(PUT_TIMES).run(stretch, min, max, this.#receivedUs ?? max, this.#counters.get("logs"));
    this.#times = { stretch: -1, min: 0, max: 0 };
  }
}

/**
 * The kind of the resource: from the event itself, otherwise from the event's owner (a custom event inside a task belongs to
 * the run).
 */
function resourceKind(ops: readonly Primitive[], at: number): string {
  const resource = valueAt(ops, at, AT.resource);
  if (resource !== null) return String((JSON.parse(resource) as { kind?: unknown }).kind);
  return valueAt(ops, at, AT.task_run_id) === null || valueAt(ops, at, AT.state_type) === null ? "run" : "task_run";
}
