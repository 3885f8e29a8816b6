/** Random batches over all row operations, as a core could send them: they name rows that exist where an operation needs that. */
import { isTerminal, STATE_TYPES, type StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import type { LogLine } from "#storage/schema/log-blocks";
import type { Column } from "#storage/write/columns";
import { COLUMNS, OPERATION_NAMES, OPERATIONS, type OperationName, putOperation, type RowOf } from "#storage/write/ops";
import { eventRow, flowRow, runRow, stateRow, taskRow, uuid } from "./storage-rows.ts";

/** Numbers from 0 to below `limit`, from a seed. */
export function numbersFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

export interface RandomParts {
  ops: Primitive[];
  logs: Primitive[];
  stream: Primitive[];
  replies: Primitive[];
  received_us: number;
}

const OPERATIONS_MAX = 12;
const US_PER_BATCH = 1_000_000;
const UUID_BYTES = 16;
const KEYS = 6;

type Put = (ops: Primitive[]) => void;

export class RandomBatches {
  readonly #next: (limit: number) => number;
  readonly covered = new Set<OperationName>();
  /** The flow of each run. */
  readonly #runs = new Map<number, number>();
  readonly #types = new Map<number, StateType>();
  readonly #lineages = new Map<number, number>();
  /** The run of each task run. */
  readonly #tasks = new Map<number, number>();
  readonly #flows = new Set<number>();
  readonly #leases: number[] = [];
  readonly #given = { runs: 0, flows: 0, tasks: 0, leases: 0, events: 0, batches: 0 };
  readonly #special: Readonly<Partial<Record<OperationName, Put>>>;

  constructor(seed: number) {
    this.#next = numbersFrom(seed);
    this.#special = {
      insert_flow: (ops) => this.#insertFlow(ops),
      update_flow: (ops) => this.#putRow(ops, "update_flow", { id: this.#flow() }),
      delete_flow: (ops) => this.#deleteFlow(ops),
      insert_run: (ops) => this.#insertRun(ops),
      set_traceparent: (ops) => this.#withRun((id) => putOperation(ops, "set_traceparent", { id, traceparent: `00-${id}` })),
      insert_backfill_runs: (ops) => this.#insertBackfillRuns(ops),
      insert_new_runs: (ops) => this.#insertNewRuns(ops),
      update_run: (ops) => this.#updateRun(ops),
      delete_run: (ops) => this.#withRun((id) => this.#deleteRun(ops, id)),
      set_run_creator: (ops) => this.#withRun((id) => putOperation(ops, "set_run_creator", { id, created_by: this.#text() })),
      put_task_run: (ops) => this.#withRun((id) => this.#putTaskRun(ops, id)),
      insert_event: (ops) => this.#insertEvent(ops),
      insert_run_events: (ops) => this.#insertRunEvents(ops),
      put_event_chain: (ops) => {
        const { events } = this.#given;
        this.#insertEvent(ops);
        if (this.#given.events > events) putOperation(ops, "put_event_chain", { depth: 1 + this.#next(3) });
      },
      insert_lease: (ops) => this.#insertLease(ops),
      delete_lease: (ops) => putOperation(ops, "delete_lease", { id: this.#leases.pop() ?? 1 }),
      set_lineage: (ops) => this.#withRun((id) => this.#setLineage(ops, id)),
      put_lineage: (ops) => this.#putLineage(ops),
      insert_step: (ops) => this.#putRow(ops, "insert_step", { lineage_id: this.#key(), identity: `0${this.#key()}` }),
      put_wait: (ops) => this.#putWait(ops),
      put_clock: (ops) => this.#putRow(ops, "put_clock", { id: 1 }),
      put_expectation: (ops) => {
        const status = (["open", "met", "lapsed"] as const)[this.#next(3)] ?? "open";
        this.#putRow(ops, "put_expectation", { status, deadline: this.#time() });
      },
      put_firing: (ops) => this.#putRow(ops, "put_firing", { timestamp: this.#time() }),
      delete_idempotency: (ops) => putOperation(ops, "delete_idempotency", { created_at: this.#next(KEYS) }),
      trim_history: (ops) => this.#trim(ops),
      count_ended: (ops) => this.#countEnded(ops),
    };
  }

  batch(): RandomParts {
    this.#given.batches += 1;
    const ops: Primitive[] = [];
    const logs: Primitive[] = [];
    for (let left = this.#next(3); left > 0; left -= 1) this.#withRun((id) => this.#log(logs, id));
    for (let left = 1 + this.#next(OPERATIONS_MAX); left > 0; left -= 1) this.#operation(ops);
    const stream = Array.from({ length: this.#next(3) }, (_none, index) => [index, index + 1]).flat();
    const replies = this.#next(2) === 0 ? [] : [this.#given.batches, 200, null];
    return { ops, logs, stream, replies, received_us: this.#time() };
  }

  /** Rare operations empty the store or cost much. */
  #operation(ops: Primitive[]): void {
    const often = ["insert_run", "update_run", "update_run", "put_task_run", "insert_event"] as const;
    const drawn = OPERATION_NAMES[this.#next(OPERATION_NAMES.length)] ?? "insert_run";
    const isRare = drawn === "delete_flow" || drawn === "trim_history" || drawn === "insert_flow";
    const name = this.#next(3) === 0 || (isRare && this.#next(4) > 0) ? (often[this.#next(often.length)] ?? drawn) : drawn;
    const before = ops.length;
    const put = this.#special[name] ?? (() => this.#putRow(ops, name, {}));
    put(ops);
    if (ops.length > before) this.covered.add(name);
  }

  /** A row with random values in the columns that are not given. */
  #putRow<N extends OperationName>(ops: Primitive[], name: N, given: Partial<RowOf<N>>): void {
    const columns = OPERATIONS[name] as Readonly<Record<string, Column>>;
    const row: Record<string, Primitive> = {};
    for (const column of COLUMNS[name]) row[column] = this.#value(columns[column]);
    if ("external_id" in row) row["external_id"] = uuid(4, Number(row["id"]));
    putOperation(ops, name, { ...row, ...given } as RowOf<N>);
  }

  #value(column: Column | undefined): Primitive {
    if (column === undefined || (column.nullable && this.#next(2) === 0)) return null;
    switch (column.kind) {
      case "integer":
        return 1 + this.#next(KEYS);
      case "real":
        return this.#next(9) / 2;
      case "bit":
        return this.#next(2);
      case "hex":
        return `0${this.#next(9)}ff`;
      case "bytes":
        return new Uint8Array([this.#next(256), 0]);
      case "json":
      case "json_object":
        return this.#next(3) === 0 ? "{}" : JSON.stringify({ a: this.#next(9), ü: this.#text() });
      case "json_list":
        return this.#next(2) === 0 ? "[]" : '["x"]';
      case "state_type":
        return this.#type();
      default:
        return this.#text();
    }
  }

  #key(): number {
    return 1 + this.#next(KEYS);
  }

  #time(): number {
    return this.#given.batches * US_PER_BATCH;
  }

  #type(): StateType {
    return STATE_TYPES[this.#next(STATE_TYPES.length)] ?? "Scheduled";
  }

  #text(): string {
    return ["x", "y", "ä€😀", 'it\'s "quoted" \\ {1,2}', "", "two\nlines"][this.#next(6)] ?? "";
  }

  #flow(): number {
    const flows = [...this.#flows];
    return flows[this.#next(flows.length)] ?? 1;
  }

  /** Mostly a new run, so that some are moved often. */
  #withRun(use: (id: number) => void): void {
    const ids = [...this.#runs.keys()];
    const recent = this.#next(2) === 0 ? ids.slice(-8) : ids;
    const id = recent[this.#next(recent.length)];
    if (id !== undefined) use(id);
  }

  #insertFlow(ops: Primitive[]): void {
    this.#given.flows += 1;
    this.#flows.add(this.#given.flows);
    putOperation(ops, "insert_flow", flowRow(this.#given.flows));
  }

  #deleteFlow(ops: Primitive[]): void {
    const id = this.#flow();
    this.#flows.delete(id);
    for (const [run, flow] of this.#runs) if (flow === id) this.#forgetRun(run);
    putOperation(ops, "delete_flow", { id });
  }

  #deleteRun(ops: Primitive[], id: number): void {
    this.#forgetRun(id);
    putOperation(ops, "delete_run", { id });
  }

  #forgetRun(id: number): void {
    this.#runs.delete(id);
    for (const [task, run] of this.#tasks) if (run === id) this.#tasks.delete(task);
  }

  #newRun(flow: number, type: StateType): number {
    this.#given.runs += 1;
    this.#runs.set(this.#given.runs, flow);
    this.#types.set(this.#given.runs, type);
    return this.#given.runs;
  }

  #state(type: StateType) {
    const end_time = isTerminal(type) ? this.#time() : null;
    const start_time = this.#next(2) === 0 ? null : this.#time() - this.#next(9);
    const assignment_id = this.#next(3) === 0 ? this.#given.leases : null;
    const marks = this.#next(2) === 0 ? null : `r${this.#next(9)}u@`;
    const state_name = this.#next(3) === 0 ? `Odd${this.#next(3)}` : type;
    return stateRow(type, {
      end_time,
      start_time,
      assignment_id,
      marks,
      state_name,
      state_details: this.#next(2) ? "{}" : '{"a":1}',
    });
  }

  /** The insert of a run may follow its lineage and its traceparent. */
  #insertRun(ops: Primitive[]): void {
    const type = this.#type();
    const id = this.#newRun(this.#flow(), type);
    if (id % 3 === 0) putOperation(ops, "set_traceparent", { id, traceparent: `00-${id}` });
    if (id % 5 === 0) this.#setLineage(ops, id);
    const tags = ["[]", '["x","y"]', '["ä"]'][this.#next(3)] ?? "[]";
    const schedule_id = this.#next(4) === 0 ? this.#key() : null;
    const parameters = this.#next(2) === 0 ? "{}" : '{"b":[1,"ü"]}';
    const more = { flow_id: this.#flowOf(id), tags, schedule_id, scheduled_time: id, parameters, created_by: this.#text() };
    putOperation(ops, "insert_run", runRow(id, { ...this.#state(type), marks: "d@" }, more));
  }

  #flowOf(run: number): number {
    return this.#runs.get(run) ?? 1;
  }

  #manyRuns(flow: number): { first_id: number; count: number; external_ids: Uint8Array } {
    const count = 1 + this.#next(12);
    const first_id = this.#given.runs + 1;
    const external_ids = new Uint8Array(count * UUID_BYTES);
    for (let index = 0; index < count; index += 1) {
      const id = this.#newRun(flow, "Scheduled");
      new DataView(external_ids.buffer).setUint32(index * UUID_BYTES, id);
    }
    return { first_id, count, external_ids };
  }

  #insertBackfillRuns(ops: Primitive[]): void {
    const flow_id = this.#flow();
    const runs = this.#manyRuns(flow_id);
    const values = Array.from({ length: runs.count }, (_none, index) => `10:${String(index).padStart(2, "0")}`).join("");
    const texts = { name_head: "f-", parameters_head: '{"day":"', parameters_tail: '"}', values, tags: '["backfill:1","x"]' };
    const made = {
      flow_id,
      priority: this.#next(3),
      created_by: "backfill:1",
      created_at: this.#time(),
      backfill_id: this.#key(),
    };
    putOperation(ops, "insert_backfill_runs", { ...runs, ...made, ...texts });
    if (this.#next(2) === 0) this.#putRunEvents(ops, flow_id, runs.first_id, runs.count);
  }

  #insertNewRuns(ops: Primitive[]): void {
    const flow = this.#flow();
    const runs = this.#manyRuns(flow);
    const tags = () => (this.#next(2) === 0 ? null : '["x","new"]');
    const rows = Array.from({ length: runs.count }, () => [
      flow,
      this.#next(3),
      "n",
      this.#text(),
      tags(),
      this.#next(2) ? null : '{"a":1}',
    ]);
    const more = { created_at: this.#time(), rows: JSON.stringify(rows), rule_depth: this.#next(2) };
    putOperation(ops, "insert_new_runs", { ...runs, ...more });
    this.#given.events += runs.count;
  }

  #updateRun(ops: Primitive[]): void {
    this.#withRun((id) => {
      const type = this.#type();
      putOperation(ops, "update_run", { id, ...this.#state(type) });
      const flow_id = this.#flowOf(id);
      putOperation(ops, "count_runs", { flow_id, state_type: this.#types.get(id) ?? type, delta: -1 });
      putOperation(ops, "count_runs", { flow_id, state_type: type, delta: 1 });
      this.#types.set(id, type);
    });
  }

  #putTaskRun(ops: Primitive[], run: number): void {
    const known = [...this.#tasks.keys()];
    const old = this.#next(2) === 0 ? known[this.#next(known.length)] : undefined;
    const id = old ?? this.#given.tasks + 1;
    this.#given.tasks = Math.max(this.#given.tasks, id);
    const owner = old === undefined ? run : (this.#tasks.get(old) ?? run);
    this.#tasks.set(id, owner);
    const type = this.#type();
    const state_name = this.#next(3) === 0 ? `Odd${this.#next(3)}` : type;
    putOperation(ops, "put_task_run", taskRow(id, owner, type, { state_name, state_message: this.#text() }));
  }

  #insertEvent(ops: Primitive[]): void {
    this.#given.events += 1;
    const name = ["run.running", "task_run.failed", "custom.é", "other"][this.#next(4)] ?? "other";
    const occurred = this.#time() - this.#next(3_000_000);
    const payload = this.#next(2) === 0 ? null : '{"z":{"b":1,"a":[]},"created_by":"mine","é":"\\u2028"}';
    const kind = this.#next(5);
    const tasks = [...this.#tasks];
    const [task, ofTask] = tasks[this.#next(tasks.length)] ?? [null, null];
    if (kind === 0) {
      const resource = JSON.stringify({ id: this.#text(), kind: this.#next(2) === 0 ? "queue" : "rule", name: "q" });
      return putOperation(ops, "insert_event", eventRow(name, occurred, { resource, related: '[{"id":"f"}]', payload }));
    }
    this.#withRun((id) => {
      const isOfTask = (kind === 1 || kind === 2) && ofTask !== null;
      const run_id = isOfTask ? ofTask : id;
      const state = kind === 2 ? null : this.#type();
      const state_name = kind === 2 ? "Running/Odd" : this.#next(2) === 0 ? state : "Odd";
      const task_run_id = isOfTask ? task : null;
      const row = { run_id, flow_id: this.#flowOf(run_id), task_run_id, state_type: state, state_name, payload };
      putOperation(ops, "insert_event", eventRow(name, occurred, { ...row, state_message: this.#text() }));
      this.#given.events += 1;
    });
    this.#given.events -= 1;
  }

  #insertRunEvents(ops: Primitive[]): void {
    this.#withRun((id) => this.#putRunEvents(ops, this.#flowOf(id), id, 1));
  }

  #putRunEvents(ops: Primitive[], flow_id: number, first_run_id: number, count: number): void {
    this.#given.events += count;
    const row = { name: "run.scheduled", occurred: this.#time(), first_run_id, count, flow_id, rule_depth: this.#next(2) };
    putOperation(ops, "insert_run_events", { ...row, state_type: "Scheduled" });
    this.covered.add("insert_run_events");
  }

  #insertLease(ops: Primitive[]): void {
    this.#given.leases += 1;
    this.#leases.push(this.#given.leases);
    const row = { id: this.#given.leases, run_id: this.#key(), kind: "run", resources: '{"r":1}', created_at: 3 } as const;
    putOperation(ops, "insert_lease", row);
  }

  /** A run gets its lineage once. */
  #setLineage(ops: Primitive[], id: number): void {
    const lineage_id = this.#lineages.get(id) ?? this.#key();
    this.#lineages.set(id, lineage_id);
    putOperation(ops, "set_lineage", { id, lineage_id, caller_run_id: id % 2 === 0 ? null : 1 });
    this.covered.add("set_lineage");
  }

  /** Lineages come from lower ones. */
  #putLineage(ops: Primitive[]): void {
    const id = this.#key();
    this.#putRow(ops, "put_lineage", { id, origin_id: id === 1 ? null : 1 + this.#next(id - 1) });
  }

  #putWait(ops: Primitive[]): void {
    const id = 1 + this.#next(20);
    const token_hash = id % 2 === 0 ? null : id.toString(16).padStart(4, "0");
    this.#putRow(ops, "put_wait", { id, lineage_id: 1 + (id % KEYS), identity: id.toString(16).padStart(4, "0"), token_hash });
  }

  #trim(ops: Primitive[]): void {
    const before = this.#time() - this.#next(60) * US_PER_BATCH;
    putOperation(ops, "trim_history", { before, last_event: this.#given.events - this.#next(100), stretches: 1 + this.#next(3) });
  }

  #countEnded(ops: Primitive[]): void {
    const duration = this.#next(2) === 0 ? null : this.#next(9_000_000);
    const task_name = this.#next(2) === 0 ? "" : `t${this.#next(3)}`;
    const what = { ended_at: 4_000_000_000 * this.#next(3), flow_id: this.#flow(), task_name, state_type: this.#type() };
    putOperation(ops, "count_ended", { ...what, duration, delta: 1, state_name: this.#text() });
  }

  #log(logs: Primitive[], run: number): void {
    const line: LogLine = [null, 20, "l", 1, "ä".repeat(this.#next(4) === 0 ? 9_000 : 9)];
    logs.push(run, 0, 1, 4, JSON.stringify([line]));
  }
}
