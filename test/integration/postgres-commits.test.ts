/** Random batches leave equal rows in SQLite and PostgreSQL; the fence refuses what it must. */
import t from "tap";
import { isTerminal, STATE_TYPES, type StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import type { CommitRequest } from "#storage/port";
import { Connection } from "#storage/postgres/connection";
import { openPostgresStore } from "#storage/postgres/store";
import { putOperation } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { flowRow, putRunEvent, putTaskRun, request, runRow, stateRow } from "../support/storage-rows.ts";
import { dumpPostgres, dumpSqlite } from "../support/store-dump.ts";

const BATCHES = 300;
const OPERATIONS_MAX = 12;
const nowUs = () => 1_000;

/** Numbers from 0 to below `limit`, from a seed. */
function numbersFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Batches of a core that creates, moves, ends and revives runs. */
class RandomBatches {
  readonly #next: (limit: number) => number;
  readonly #states = new Map<number, StateType>();
  readonly #leases: number[] = [];
  #leasesGiven = 0;

  constructor(seed: number) {
    this.#next = numbersFrom(seed);
  }

  batch(): { ops: Primitive[]; logs: Primitive[]; stream: Primitive[] } {
    const parts = { ops: [] as Primitive[], logs: [] as Primitive[], stream: [0, 1] as Primitive[] };
    for (let left = 1 + this.#next(OPERATIONS_MAX); left > 0; left -= 1) this.#step(parts.ops, parts.logs);
    return parts;
  }

  #step(ops: Primitive[], logs: Primitive[]): void {
    const kind = this.#next(8);
    const run = 1 + this.#next(Math.max(1, this.#states.size));
    const state = STATE_TYPES[this.#next(STATE_TYPES.length)] ?? "Scheduled";
    if (kind === 0 || this.#states.size === 0) this.#create(ops, state);
    else if (kind <= 2) this.#move(ops, run, state);
    else if (kind === 3) putRunEvent(ops, "run.running", run, 1, state, 1 + this.#next(90));
    else if (kind === 4) putTaskRun(ops, run * 10 + this.#next(4), run, state, this.#next(2) === 0 ? state : "Odd");
    else if (kind === 5) logs.push(run, 0, 1, 4, JSON.stringify([[null, 20, "l", 1, "ä".repeat(this.#next(9_000))]]));
    else if (kind === 6) this.#lease(ops, run);
    else this.#end(ops, run);
  }

  #create(ops: Primitive[], state: StateType): void {
    const id = this.#states.size + 1;
    this.#states.set(id, state);
    const end_time = isTerminal(state) ? 20 : null;
    const tags = this.#next(2) === 0 ? "[]" : '["x","y"]';
    putOperation(ops, "insert_run", runRow(id, stateRow(state, { end_time, marks: "d@" }), { tags }));
    if (id % 3 === 0) putOperation(ops, "set_traceparent", { id, traceparent: `00-${id}` });
    putOperation(ops, "count_runs", { flow_id: 1, state_type: state, delta: 1 });
  }

  #move(ops: Primitive[], id: number, state: StateType): void {
    const end_time = isTerminal(state) ? 30 + this.#next(3) : null;
    const marks = this.#next(2) === 0 ? null : "r@";
    putOperation(ops, "update_run", { id, ...stateRow(state, { start_time: 15 + this.#next(9), end_time, marks }) });
    putOperation(ops, "count_runs", { flow_id: 1, state_type: this.#states.get(id) ?? state, delta: -1 });
    putOperation(ops, "count_runs", { flow_id: 1, state_type: state, delta: 1 });
    if (this.#next(4) === 0) putOperation(ops, "set_lineage", { id, lineage_id: id, caller_run_id: null });
    this.#states.set(id, state);
  }

  #lease(ops: Primitive[], run_id: number): void {
    const known = this.#leases.pop();
    if (known !== undefined && this.#next(2) === 0) return putOperation(ops, "delete_lease", { id: known });
    this.#leasesGiven += 1;
    this.#leases.push(this.#leasesGiven);
    putOperation(ops, "insert_lease", { id: this.#leasesGiven, run_id, kind: "run", resources: '{"r":1}', created_at: 3 });
  }

  #end(ops: Primitive[], run: number): void {
    const duration = this.#next(2) === 0 ? null : this.#next(9_000_000);
    const task_name = this.#next(2) === 0 ? "" : `t${run % 3}`;
    const what = { ended_at: 4_000_000_000, flow_id: 1, task_name, state_type: "Completed", state_name: "Done" } as const;
    putOperation(ops, "count_ended", { ...what, duration, delta: 1 });
  }
}

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

t.test("commits of PostgreSQL", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());

  await t.test("equal rows after random batches", async (t) => {
    const settings = await server.database("random");
    const store = await openPostgresStore(urlOf(settings), { stream: "continue", nowUs, durability: "normal", salt: 1 });
    const database = openWriteHandle(":memory:", { durability: "normal", salt: 1 });
    const writer = new Writer(database, { stream: "continue", nowUs });
    const batches = new RandomBatches(1);
    const flow: Primitive[] = [];
    putOperation(flow, "insert_flow", flowRow(1));
    for (let number = 1; number <= BATCHES; number += 1) {
      const batch: CommitRequest = request(writer, number, number === 1 ? { ops: flow } : batches.batch());
      const expected = writer.commit(batch);
      t.strictSame(await store.commit(batch), { kind: "applied", result: expected });
    }
    const dump = dumpSqlite(database);
    t.ok((dump["runs"]?.length ?? 0) > BATCHES / 2, "the batches create runs");
    const connection = await Connection.open(settings);
    t.strictSame(await dumpPostgres(connection), dump);
    await connection.close();
    await store.close(false);
    database.close();
  });
});
