/** Folds the changes of a commit to runs: one row for each run, in the table of living or of ended runs. */
import type { Primitive } from "#protocol/wire/feed";
import { type Counted, stretchOf } from "../schema/codes.ts";
import { joinedMarks, withCommitTime } from "../schema/run-marks.ts";
import { COLUMNS, type RowOf, RUN_STATE } from "../write/ops.ts";
import { encoded, encodersOf } from "../write/row-operations.ts";
import { positionsOf, valueAt } from "../write/row-values.ts";
import { type Part, RUN_PARTS, WRITER_PARTS } from "./parts.ts";

const INSERT = positionsOf("insert_run");
const UPDATE = positionsOf("update_run");
const INSERT_ENCODERS = encodersOf("insert_run");
const UPDATE_ENCODERS = encodersOf("update_run");

/** Positions of the columns that an update replaces in an insert of the same commit. */
const REPLACED = (Object.keys(RUN_STATE) as (keyof typeof RUN_STATE)[]).map((column) => ({
  from: UPDATE[column],
  to: INSERT[column],
}));

/** Ended runs whose flow is known, because task runs may still be reported; forgetting one only costs a read of its row. */
const ENDED_REMEMBERED_MAX = 16_384;

/** Stretches whose bounds are known; forgetting one only costs a repeated row. */
const BOUNDS_REMEMBERED_MAX = 256;

interface Sink {
  raise(name: Counted, id: number): void;
  code(name: string): number;
  add(part: Part, row: Primitive[]): void;
}

/** The pending row of a run: that of its insert, or that of its newest update. */
interface PendingRun {
  isNew: boolean;
  values: Primitive[];
  marks: string | null;
}

interface Bounds {
  min: number;
  max: number;
}

export class RunFolder {
  /** Flow of each living run; null for one that was revived long after its end. */
  readonly #living: Map<number, number | null>;
  readonly #ended = new Map<number, number>();
  readonly #nowUs: () => number;
  readonly #sink: Sink;
  readonly #bounds = new Map<number, Bounds>();
  /** What is pending is in maps that are new after each flush, see ADR 47. */
  #pending = new Map<number, PendingRun>();
  #lineages: RowOf<"set_lineage">[] = [];
  #traceparents = new Map<number, string>();
  #widened = new Set<number>();

  constructor(living: Map<number, number | null>, nowUs: () => number, sink: Sink) {
    this.#living = living;
    this.#nowUs = nowUs;
    this.#sink = sink;
  }

  /** @param values of an insert_run; they are kept and changed */
  insert(values: Primitive[]): void {
    const id = valueAt(values, 0, INSERT.id);
    this.#pending.set(id, { isNew: true, values, marks: valueAt(values, 0, INSERT.marks) });
    this.#living.set(id, valueAt(values, 0, INSERT.flow_id));
  }

  /**
   * A run of a backfill or of many created together. SQLite stores such a run before it looks at later operations of the commit, so the
   * bounds have its creation also where the commit starts it.
   */
  insertAtOnce(values: Primitive[]): void {
    this.insert(values);
    this.#noteStart(valueAt(values, 0, INSERT.id), valueAt(values, 0, INSERT.created_at));
  }

  update(ops: readonly Primitive[], at: number): void {
    const id = valueAt(ops, at, UPDATE.id);
    const known = this.#pending.get(id);
    const marks = joinedMarks(known?.marks ?? null, valueAt(ops, at, UPDATE.marks));
    if (known?.isNew === true) {
      for (const { from, to } of REPLACED) known.values[to] = ops[at + from] ?? null;
      known.marks = marks;
    } else this.#pending.set(id, { isNew: false, values: ops.slice(at, at + COLUMNS.update_run.length), marks });
  }

  /** Kept until the flush, because the run may be inserted by a later operation of the commit. */
  setLineage(row: RowOf<"set_lineage">): void {
    this.#lineages.push(row);
  }

  /** Kept until the flush likewise. */
  setTraceparent({ id, traceparent }: RowOf<"set_traceparent">): void {
    this.#traceparents.set(id, traceparent);
  }

  /** The flow of a run that lives or ended a short time ago. */
  flowOf(run: number): number | null {
    return this.#living.get(run) ?? this.#ended.get(run) ?? null;
  }

  /** Of a stored run: no change of runs is pending. */
  setCreator({ id, created_by }: RowOf<"set_run_creator">): void {
    this.#sink.add(this.#living.has(id) ? RUN_PARTS.creator : RUN_PARTS.creatorEnded, [id, created_by]);
  }

  /** A run that is deleted. */
  forget(id: number): void {
    this.#living.delete(id);
    this.#ended.delete(id);
  }

  flush(): void {
    const lineages = new Map(this.#lineages.map((row) => [row.id, row]));
    for (const [id, { isNew, values, marks }] of this.#pending) {
      values[isNew ? INSERT.marks : UPDATE.marks] = marks === null ? null : withCommitTime(marks, this.#nowUs());
      const { lineage_id = null, caller_run_id = null } = lineages.get(id) ?? {};
      lineages.delete(id);
      const traceparent = this.#traceparents.get(id) ?? null;
      if (isNew) this.#traceparents.delete(id);
      if (isNew) this.#flushInsert(id, values, [lineage_id, caller_run_id, traceparent]);
      else this.#flushUpdate(id, values, [lineage_id, caller_run_id]);
    }
    for (const { id, lineage_id, caller_run_id } of lineages.values())
      this.#sink.add(this.#living.has(id) ? RUN_PARTS.lineage : RUN_PARTS.lineageEnded, [id, lineage_id, caller_run_id]);
    for (const [id, traceparent] of this.#traceparents)
      this.#sink.add(this.#living.has(id) ? RUN_PARTS.traceparent : RUN_PARTS.traceparentEnded, [id, traceparent]);
    this.#flushBounds();
    this.#pending = new Map();
    this.#lineages = [];
    this.#traceparents = new Map();
  }

  /** @param more lineage, calling run and traceparent */
  #flushInsert(id: number, values: readonly Primitive[], more: readonly Primitive[]): void {
    const row = INSERT_ENCODERS.map((encoder) => encoded(encoder, values, 0));
    row.push(...more);
    const hasEnded = valueAt(values, 0, INSERT.end_time) !== null;
    this.#sink.add(hasEnded ? RUN_PARTS.insertedEnded : RUN_PARTS.inserted, row);
    if (hasEnded) this.#end(id);
    this.#sink.raise("runs", id);
    this.#raiseLeases(valueAt(values, 0, INSERT.assignment_id));
    this.#noteStart(id, valueAt(values, 0, INSERT.start_time) ?? valueAt(values, 0, INSERT.created_at));
    const tags = valueAt(values, 0, INSERT.tags);
    if (tags === null || tags === "[]") return;
    for (const tag of JSON.parse(tags) as string[]) this.#sink.add(WRITER_PARTS.runTags, [this.#sink.code(tag), id]);
  }

  #flushUpdate(id: number, values: readonly Primitive[], lineage: readonly Primitive[]): void {
    this.#raiseLeases(valueAt(values, 0, UPDATE.assignment_id));
    const start = valueAt(values, 0, UPDATE.start_time);
    if (start !== null) this.#noteStart(id, start);
    const row = UPDATE_ENCODERS.map((encoder) => encoded(encoder, values, 0));
    row.push(...lineage);
    this.#sink.add(this.#partOf(id, valueAt(values, 0, UPDATE.end_time) !== null), row);
  }

  #partOf(id: number, hasEnded: boolean): Part {
    const lives = this.#living.has(id);
    if (!hasEnded) {
      if (!lives) this.#revive(id);
      return lives ? RUN_PARTS.moved : RUN_PARTS.revived;
    }
    if (lives) this.#end(id);
    return lives ? RUN_PARTS.ended : RUN_PARTS.endedBefore;
  }

  #end(id: number): void {
    if (this.#ended.size >= ENDED_REMEMBERED_MAX) this.#ended.clear();
    const flow = this.flowOf(id);
    if (flow !== null) this.#ended.set(id, flow);
    this.#living.delete(id);
  }

  #revive(id: number): void {
    this.#living.set(id, this.flowOf(id));
    this.#ended.delete(id);
  }

  /** An assignment is numbered like a lease, even when it holds no resources and has no row. */
  #raiseLeases(assignment: number | null): void {
    if (assignment !== null) this.#sink.raise("leases", assignment);
  }

  #noteStart(run: number, at: number): void {
    const stretch = stretchOf(run);
    const bounds = this.#bounds.get(stretch);
    if (bounds !== undefined && at >= bounds.min && at <= bounds.max) return;
    this.#bounds.set(stretch, { min: Math.min(bounds?.min ?? at, at), max: Math.max(bounds?.max ?? at, at) });
    this.#widened.add(stretch);
  }

  #flushBounds(): void {
    for (const stretch of this.#widened) {
      const bounds = this.#bounds.get(stretch);
      if (bounds !== undefined) this.#sink.add(WRITER_PARTS.runTimes, [stretch, bounds.min, bounds.max]);
    }
    this.#widened = new Set();
    if (this.#bounds.size > BOUNDS_REMEMBERED_MAX) this.#bounds.clear();
  }
}
