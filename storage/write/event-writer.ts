/** Rows of events: assigns ids in commit order, inserts several rows per statement and writes the coarse index. */
import type { Primitive } from "#protocol/wire/feed";
import { STRETCH_KIND, stateCode, stretchesOf, stretchOf } from "../schema/codes.ts";
import type { Names } from "../schema/names.ts";
import { NUMBERS } from "../schema/numbers.ts";
import type { Statements } from "../sqlite/statements.ts";
import type { Counters } from "./counters.ts";
import { OPERATIONS } from "./ops.ts";
import { encodersOf } from "./row-operations.ts";
import type { Stretches } from "./stretches.ts";

const COLUMNS = OPERATIONS.insert_event;
const ENCODERS = encodersOf(COLUMNS);
const AT = Object.fromEntries(COLUMNS.map((column, index) => [column, index])) as Record<(typeof COLUMNS)[number], number>;

/** Rows per statement: a call costs as much as binding about ten values. */
const ROWS_PER_INSERT = 8;

function insertOf(rows: number): string {
  const row = `(${["id", ...COLUMNS].map(() => "?").join(", ")})`;
  return `INSERT INTO events (id, ${COLUMNS.join(", ")}) VALUES ${Array.from({ length: rows }, () => row).join(", ")}`;
}

const INSERT_ONE = insertOf(1);
const INSERT_MANY = insertOf(ROWS_PER_INSERT);

const INSERT_FOR_RUNS = `${NUMBERS}
  INSERT INTO events (id, name, occurred, run_id, flow_id, state_type) SELECT ? + i, ?, ?, ? + i, ?, ? FROM numbers`;
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
    const name = this.#names.code(String(ops[at + AT.name]));
    this.#bound.push(id, name);
    for (let index = 1; index < ENCODERS.length; index++) this.#bound.push(ENCODERS[index]?.(ops, at) ?? null);
    this.#stretches.note(STRETCH_KIND.event_name, name, stretch);
    const flow = ops[at + AT.flow_id];
    if (typeof flow === "number") this.#stretches.note(STRETCH_KIND.event_flow, flow, stretch);
    this.#stretches.note(STRETCH_KIND.event_resource, this.#names.code(resourceKind(ops, at)), stretch);
    this.#noteTime(stretch, Number(ops[at + AT.occurred]));
    if (this.#bound.length === ROWS_PER_INSERT * (COLUMNS.length + 1)) {
      const bound = this.#bound;
      this.#bound = [];
      this.#statements.raw(INSERT_MANY).run(...bound);
    }
  }

  /** Inserts one event for each run of a range, under the next ids. */
  insertForRuns(ops: readonly Primitive[], at: number): void {
    const [name, occurred, firstRun, count, flow, type, depth] = ops.slice(at, at + OPERATIONS.insert_run_events.length);
    const first = this.#counters.take("events", Number(count));
    const code = this.#names.code(String(name));
    this.#flushBound();
    const values = [first, code, occurred ?? null, firstRun ?? null, flow ?? null, stateCode(type ?? null)];
    this.#statements.raw(INSERT_FOR_RUNS).run(count ?? null, ...values);
    if (Number(depth) > 0) this.#statements.raw(CHAIN_FOR_RUNS).run(count ?? null, first, depth ?? null);
    for (const stretch of stretchesOf(first, Number(count))) {
      this.#stretches.note(STRETCH_KIND.event_name, code, stretch);
      this.#stretches.note(STRETCH_KIND.event_flow, Number(flow), stretch);
      this.#stretches.note(STRETCH_KIND.event_resource, this.#names.code("run"), stretch);
      this.#noteTime(stretch, Number(occurred));
    }
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
    const width = COLUMNS.length + 1;
    const bound = this.#bound;
    this.#bound = [];
    for (let at = 0; at < bound.length; at += width) this.#statements.raw(INSERT_ONE).run(...bound.slice(at, at + width));
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
  const resource = ops[at + AT.resource];
  if (typeof resource === "string") return String((JSON.parse(resource) as { kind?: unknown }).kind);
  return ops[at + AT.task_run_id] === null || ops[at + AT.state_type] === null ? "run" : "task_run";
}
