/**
 * Folds a batch into the rows of a commit's parts: the last effect on each row, and the rows that follow from the operations
 * (events under their ids, log blocks, indexes by stretches, counts). An operation on a set of rows is a step of its own: what was
 * folded before is written before.
 *
 * Folding raises counters and adds to caches at once. When the commit fails, drop the folder and make one from the stored marks.
 */
import type { Primitive } from "#protocol/wire/feed";
import type { CommitResult } from "../port.ts";
import { COUNT_KIND, COUNTED, type Counted, STRETCH_KIND, stateCode, stretchOf } from "../schema/codes.ts";
import { durationClass, NO_DURATION } from "../schema/duration-class.ts";
import { keptEvent } from "../schema/kept-answer.ts";
import type { LogBlocks } from "../schema/log-blocks.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { type Batch, commandsOf } from "../write/batch.ts";
import type { CounterValues } from "../write/counters.ts";
import { HOUR_US, QUARTER_US } from "../write/ended-counts.ts";
import { COLUMNS, OPERATION_NAMES, type OperationName, type RowOf } from "../write/ops.ts";
import { encoded, encodersOf } from "../write/row-operations.ts";
import { positionsOf, rowAt, valueAt } from "../write/row-values.ts";
import { type BulkEvent, backfillRuns, newRuns, runEvents } from "./bulk-rows.ts";
import type { Rows } from "./commit-messages.ts";
import { FOLDS, type Part, SET_REMOVALS, UPDATES, WRITER_PARTS } from "./parts.ts";
import { RunFolder } from "./run-folder.ts";
import type { GivenIds } from "./trim-history.ts";

/** What a folder must know of the store. */
export interface StoredMarks {
  counters: CounterValues;
  names: Map<string, number>;
  /** The flow of each living run. */
  living: Map<number, number>;
}

/** An operation on rows that have to be found. */
export type SetOperation =
  | { kind: "delete_runs"; ids: number[] }
  | { kind: "delete_flow"; id: number }
  | ({ kind: "trim_history"; given: GivenIds } & RowOf<"trim_history">);

export interface FoldedBatch {
  /** In the order of their statements. */
  steps: (Rows | SetOperation)[];
  /** The counters after the commit, in the order of COUNTED. */
  counters: number[];
  result: CommitResult;
  /** Ids of the commands that the batch answers. */
  commands: number[];
  /** Whether the folder no longer knows which runs live. */
  isOutdated: boolean;
}

/** Stretches cached, for each kind; forgetting one only costs repeated rows. */
const STRETCHES_REMEMBERED_MAX = 256;
/** More than the highest kind. */
const STRETCH_KINDS = 16;

const ENCODERS = Object.fromEntries(OPERATION_NAMES.map((name) => [name, encodersOf(name)]));
const EVENT = positionsOf("insert_event");
const RUN = positionsOf("insert_run");
const TASK = positionsOf("put_task_run");
const COUNT = positionsOf("count_runs");
const ENDED = positionsOf("count_ended");
const IDEMPOTENCY = positionsOf("put_idempotency");
const EVENT_ENCODERS = encodersOf(
  "insert_event",
  COLUMNS.insert_event.filter((column) => column !== "name"),
);
const RAISED: Readonly<Partial<Record<OperationName, Counted>>> = {
  insert_flow: "flows",
  put_task_run: "task_runs",
  put_artifact: "artifacts",
  insert_lease: "leases",
  put_schedule: "schedules",
  put_backfill: "backfills",
  put_wait: "waits",
  put_rule: "rules",
  put_firing: "firings",
  put_expectation: "expectations",
  put_outbound: "outbound",
};

interface Effect {
  operation: OperationName;
  part: Part;
  row: Primitive[];
}

interface Times {
  min: number;
  max: number;
}

export class BatchFolder {
  readonly #counters: CounterValues;
  readonly #names: Map<string, number>;
  /** Values noted for a stretch of a kind. */
  readonly #seen = new Map<number, Set<number>>();
  readonly #runs: RunFolder;
  #steps: (Rows | SetOperation)[] = [];
  #rows: Rows = new Map();
  /** The counters before the batch. */
  #before: CounterValues;
  /** The counters before the step: rows with higher ids are not stored. */
  #stored: CounterValues;
  /** By table and key. What is pending is in maps that are new after each flush, see ADR 47. */
  #effects = new Map<string, Map<Primitive, Effect>>();
  #counts = new Map<string, Primitive[]>();
  #ended = new Map<string, Primitive[]>();
  #quarters = new Map<string, Primitive[]>();
  #times = new Map<number, Times>();
  /** The newest values of each task run, for the coarse index. */
  #tasks = new Map<number, Primitive[]>();
  readonly #deletedFlows = new Set<number>();
  #receivedUs: number | null = null;

  constructor({ counters, names, living }: StoredMarks, nowUs: () => number) {
    this.#counters = { ...counters };
    this.#before = this.#counters;
    this.#stored = this.#counters;
    this.#names = new Map(names);
    this.#runs = new RunFolder(new Map(living), nowUs, {
      raise: (name, id) => this.#raise(name, id),
      code: (name) => this.#code(name),
      add: (part, row) => this.#add(part, row),
    });
  }

  fold({ batch, logs }: { batch: Batch; logs: LogBlocks }): FoldedBatch {
    this.#steps = [];
    this.#before = { ...this.#counters };
    this.#stored = this.#before;
    this.#receivedUs = batch.received_us ?? null;
    const first_event_id = this.#counters.events + 1;
    const first_seq = this.#counters.stream + 1;
    this.#counters.stream += batch.stream.length / 2;
    this.#foldLogs(logs);
    this.#foldOperations(storableTexts(batch.ops));
    this.#flush();
    this.#flushSums();
    this.#closeStep();
    const result = { number: batch.number, first_event_id, logs: logs.appended, first_seq };
    const counters = COUNTED.map((name) => this.#counters[name]);
    const isOutdated = this.#deletedFlows.size > 0;
    this.#deletedFlows.clear();
    return { steps: this.#steps, counters, result, commands: commandsOf(batch), isOutdated };
  }

  /** Makes rows of all that is pending but the sums. */
  #flush(): void {
    this.#runs.flush();
    for (const [id, values] of this.#tasks) this.#noteTaskRun(id, values);
    this.#tasks = new Map();
    for (const effects of this.#effects.values()) this.#addEffects(effects);
    this.#effects = new Map();
    this.#flushTimes();
  }

  #addEffects(effects: Map<Primitive, Effect>): void {
    for (const { part, row } of effects.values()) this.#add(part, row);
  }

  /** The rows that follow are written after those so far. */
  #closeStep(): void {
    if (this.#rows.size > 0) this.#steps.push(this.#rows);
    this.#rows = new Map();
    this.#stored = { ...this.#counters };
  }

  #addStep(operation: SetOperation): void {
    this.#flush();
    this.#closeStep();
    this.#steps.push(operation);
  }

  #add(part: Part, row: Primitive[]): void {
    const rows = this.#rows.get(part);
    if (rows === undefined) this.#rows.set(part, [row]);
    else rows.push(row);
  }

  #raise(name: Counted, id: number): void {
    if (id > this.#counters[name]) this.#counters[name] = id;
  }

  #code(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const code = this.#names.size + 1;
    this.#names.set(name, code);
    this.#add(WRITER_PARTS.names, [code, name]);
    return code;
  }

  #foldLogs(logs: LogBlocks): void {
    for (const { id, run_id, attempt, count, level_mask, lines } of logs.blocks) {
      const packed = typeof lines === "string" ? 0 : 1;
      this.#add(WRITER_PARTS.logBlocks, [id, run_id, attempt, count, level_mask, packed, lines]);
      this.#raise("logs", id);
    }
  }

  #foldOperations(ops: readonly Primitive[]): void {
    for (let at = 0; at < ops.length; ) {
      const name = OPERATION_NAMES[Number(ops[at])];
      if (name === undefined) throw new StorageError("operation", `operation ${String(ops[at])} at ${at} is not known`);
      this.#foldOperation(name, ops, at + 1);
      at += COLUMNS[name].length + 1;
    }
  }

  #foldOperation(name: OperationName, ops: readonly Primitive[], at: number): void {
    switch (name) {
      case "insert_run":
        return this.#runs.insert(ops.slice(at, at + COLUMNS.insert_run.length));
      case "update_run":
        return this.#runs.update(ops, at);
      case "set_lineage":
        return this.#runs.setLineage(rowAt(name, ops, at));
      case "set_traceparent":
        return this.#runs.setTraceparent(rowAt(name, ops, at));
      case "insert_event":
        return this.#foldEvent(ops, at);
      case "put_event_chain":
        return this.#add(WRITER_PARTS.eventChains, [this.#counters.events, rowAt(name, ops, at).depth]);
      case "insert_quarantine":
        return this.#add(WRITER_PARTS.quarantine, ops.slice(at, at + COLUMNS[name].length));
      case "count_runs":
      case "count_task_runs":
        return this.#foldCount(name === "count_runs" ? COUNT_KIND.runs : COUNT_KIND.task_runs, ops, at);
      case "count_ended":
        return this.#foldEnded(ops, at);
      default:
        if (!this.#foldSet(name, ops, at)) this.#foldRow(name, ops, at);
    }
  }

  /** Operations that make many rows, or concern those that are found; false for others. */
  #foldSet(name: OperationName, ops: readonly Primitive[], at: number): boolean {
    switch (name) {
      case "insert_backfill_runs":
        this.#insertRuns(backfillRuns(rowAt(name, ops, at)));
        return true;
      case "insert_new_runs": {
        const { runs, events } = newRuns(rowAt(name, ops, at));
        this.#insertRuns(runs);
        this.#insertEvents(events);
        return true;
      }
      case "insert_run_events":
        this.#insertEvents(runEvents(rowAt(name, ops, at)));
        return true;
      case "delete_run":
        this.#deleteRun(rowAt(name, ops, at).id);
        return true;
      case "delete_flow":
        this.#deletedFlows.add(rowAt(name, ops, at).id);
        this.#addStep({ kind: name, ...rowAt(name, ops, at) });
        return true;
      case "trim_history":
        this.#addStep({ kind: name, given: this.#before, ...rowAt(name, ops, at) });
        return true;
      case "set_run_creator":
        this.#flush();
        this.#closeStep();
        this.#runs.setCreator(rowAt(name, ops, at));
        return true;
      default:
        return this.#removeSet(name, ops, at);
    }
  }

  #removeSet(name: OperationName, ops: readonly Primitive[], at: number): boolean {
    const removal = SET_REMOVALS[name];
    if (removal === undefined) return false;
    const effects = this.#effects.get(removal.table);
    if (effects !== undefined) {
      this.#addEffects(effects);
      this.#effects.delete(removal.table);
      this.#closeStep();
    }
    this.#add(removal.part, ops.slice(at, at + COLUMNS[name].length));
    return true;
  }

  #insertRuns(runs: readonly Primitive[][]): void {
    for (const values of runs) {
      for (const tag of tagsOf(values[RUN.tags])) this.#code(tag);
      this.#runs.insertAtOnce(values);
    }
  }

  #insertEvents(events: readonly BulkEvent[]): void {
    for (const { values, depth } of events) {
      this.#foldEvent(values, 0);
      if (depth > 0) this.#add(WRITER_PARTS.eventChains, [this.#counters.events, depth]);
    }
  }

  #deleteRun(id: number): void {
    this.#flush();
    this.#runs.forget(id);
    const last = this.#rows.size === 0 ? this.#steps.at(-1) : undefined;
    if (last !== undefined && "kind" in last && last.kind === "delete_runs") last.ids.push(id);
    else this.#addStep({ kind: "delete_runs", ids: [id] });
  }

  #foldRow(name: OperationName, ops: readonly Primitive[], at: number): void {
    const known = FOLDS[name] ?? UPDATES[name];
    if (known === undefined) throw new StorageError("operation", `${name} cannot be folded into a commit`);
    const row = (ENCODERS[name] ?? []).map((encoder) => encoded(encoder, ops, at));
    if (name === "put_idempotency") row[IDEMPOTENCY.body] ??= keptEvent(this.#counters.events);
    const counted = RAISED[name];
    const isNew = counted !== undefined && Number(ops[at]) > this.#stored[counted];
    if (counted !== undefined) this.#raise(counted, Number(ops[at]));
    const effects = this.#effectsOf(known.table);
    const key = keyOf(known.key, ops, at);
    const pending = effects.get(key);
    if (name in UPDATES && pending !== undefined && pending.operation !== name) overlay(pending, name, row);
    else if (!known.first || pending === undefined)
      effects.set(key, { operation: name, part: (isNew ? known.inserted : undefined) ?? known.part, row });
    if (name === "put_task_run") this.#tasks.set(Number(ops[at]), ops.slice(at, at + COLUMNS[name].length));
  }

  #effectsOf(table: string): Map<Primitive, Effect> {
    const known = this.#effects.get(table);
    if (known !== undefined) return known;
    const made = new Map<Primitive, Effect>();
    this.#effects.set(table, made);
    return made;
  }

  #foldEvent(ops: readonly Primitive[], at: number): void {
    this.#counters.events += 1;
    const id = this.#counters.events;
    const name = this.#code(valueAt(ops, at, EVENT.name));
    const resource = valueAt(ops, at, EVENT.resource);
    const own = resource === null ? null : (JSON.parse(resource) as { kind?: unknown; id?: unknown });
    const values = EVENT_ENCODERS.map((encoder) => encoded(encoder, ops, at));
    this.#add(WRITER_PARTS.events, [id, name, ...values, textOf(own?.kind), textOf(own?.id)]);
    const stretch = stretchOf(id);
    this.#note(STRETCH_KIND.event_name, name, stretch);
    const flow = valueAt(ops, at, EVENT.flow_id);
    if (flow !== null) this.#note(STRETCH_KIND.event_flow, flow, stretch);
    const ofTask = valueAt(ops, at, EVENT.task_run_id) !== null && valueAt(ops, at, EVENT.state_type) !== null;
    const kind = own === null ? (ofTask ? "task_run" : "run") : String(own.kind);
    this.#note(STRETCH_KIND.event_resource, this.#code(kind), stretch);
    const occurred = valueAt(ops, at, EVENT.occurred);
    const times = this.#times.get(stretch);
    if (times === undefined) this.#times.set(stretch, { min: occurred, max: occurred });
    else {
      times.min = Math.min(times.min, occurred);
      times.max = Math.max(times.max, occurred);
    }
  }

  #noteTaskRun(id: number, values: readonly Primitive[]): void {
    const stretch = stretchOf(id);
    const run = valueAt(values, 0, TASK.run_id);
    const flow = this.#runs.flowOf(run);
    if (flow === null) this.#add(WRITER_PARTS.taskFlows, [run, stretch]);
    else this.#note(STRETCH_KIND.task_flow, flow, stretch);
    const type = valueAt(values, 0, TASK.state_type);
    const name = valueAt(values, 0, TASK.state_name);
    if (valueAt(values, 0, TASK.end_time) !== null) this.#note(STRETCH_KIND.task_state, stateCode(type), stretch);
    if (name !== type) this.#note(STRETCH_KIND.task_state_name, this.#code(name), stretch);
  }

  #note(kind: number, value: number, stretch: number): void {
    const key = stretch * STRETCH_KINDS + kind;
    let values = this.#seen.get(key);
    if (values?.has(value) === true) return;
    if (values === undefined) {
      if (this.#seen.size >= STRETCHES_REMEMBERED_MAX) this.#seen.clear();
      values = new Set();
      this.#seen.set(key, values);
    }
    values.add(value);
    // The cache may have forgotten a row of this commit; the conflict clause then ignores the second one.
    this.#add(WRITER_PARTS.stretches, [kind, value, stretch]);
  }

  #foldCount(kind: number, ops: readonly Primitive[], at: number): void {
    const state = stateCode(valueAt(ops, at, COUNT.state_type));
    addTo(this.#counts, [valueAt(ops, at, COUNT.flow_id), kind, state], valueAt(ops, at, COUNT.delta));
  }

  #foldEnded(ops: readonly Primitive[], at: number): void {
    const endedAt = valueAt(ops, at, ENDED.ended_at);
    const task = valueAt(ops, at, ENDED.task_name);
    const duration = valueAt(ops, at, ENDED.duration);
    const delta = valueAt(ops, at, ENDED.delta);
    const group = duration === null ? NO_DURATION : durationClass(duration);
    const state = stateCode(valueAt(ops, at, ENDED.state_type));
    addTo(this.#ended, [Math.floor(endedAt / HOUR_US), valueAt(ops, at, ENDED.flow_id), task, state, group], delta);
    if (task === "") addTo(this.#quarters, [Math.floor(endedAt / QUARTER_US), valueAt(ops, at, ENDED.state_name)], delta);
  }

  #flushTimes(): void {
    for (const [stretch, { min, max }] of this.#times)
      this.#add(WRITER_PARTS.eventTimes, [stretch, min, max, this.#receivedUs ?? max, this.#counters.logs]);
    this.#times = new Map();
  }

  #flushSums(): void {
    for (const row of this.#counts.values()) if (!this.#deletedFlows.has(Number(row[0]))) this.#add(WRITER_PARTS.counts, row);
    for (const row of this.#ended.values()) this.#add(WRITER_PARTS.endedCounts, row);
    for (const row of this.#quarters.values()) this.#add(WRITER_PARTS.endedQuarters, row);
    this.#counts = new Map();
    this.#ended = new Map();
    this.#quarters = new Map();
  }
}

/**
 * Texts of PostgreSQL have no NUL characters: each becomes U+FFFD. The gateway refuses them in requests; what engines report may
 * have them outside of JSON.
 */
function storableTexts(ops: readonly Primitive[]): readonly Primitive[] {
  const hasNul = (value: Primitive) => typeof value === "string" && value.includes("\0");
  if (!ops.some(hasNul)) return ops;
  return ops.map((value) => (hasNul(value) ? String(value).replaceAll("\0", "\uFFFD") : value));
}

function tagsOf(tags: Primitive | undefined): string[] {
  return typeof tags === "string" ? (JSON.parse(tags) as string[]) : [];
}

/** The key of a row within its table: the value of a key of one column, else a text of all. */
function keyOf(positions: readonly number[], ops: readonly Primitive[], at: number): Primitive {
  const [only] = positions;
  if (only !== undefined && positions.length === 1) return ops[at + only] ?? null;
  return positions.map((position) => String(ops[at + position])).join("\n");
}

/** Replaces columns of a row that the same commit puts; a row that it deletes stays deleted. */
function overlay(pending: Effect, name: OperationName, row: readonly Primitive[]): void {
  if (UPDATES[name]?.whole !== pending.operation) return;
  const whole: readonly string[] = COLUMNS[pending.operation];
  for (const [index, column] of COLUMNS[name].entries()) pending.row[whole.indexOf(column)] = row[index] ?? null;
}

function addTo(sums: Map<string, Primitive[]>, key: readonly Primitive[], delta: number): void {
  const text = key.join("\n");
  const known = sums.get(text);
  if (known === undefined) sums.set(text, [...key, delta]);
  else known[known.length - 1] = Number(known.at(-1)) + delta;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
