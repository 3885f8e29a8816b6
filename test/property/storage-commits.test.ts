/** The store holds what the decisions contain, however they are collected into batches, repeated or interrupted. */

import fc from "fast-check";
import t, { type Test } from "tap";
import { isTerminal, STATE_TYPES, type StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { type LoadedStore, loadStore } from "#storage/load/load";
import { loadRun, readTexts, unfinishedRuns } from "#storage/load/load-runs";
import type { CommitRequest, CommitResult } from "#storage/port";
import { type LogLine, readLines } from "#storage/schema/log-blocks";
import type { Database } from "#storage/sqlite/driver";
import { putOperation } from "#storage/write/ops";
import { Writer } from "#storage/write/writer";
import {
  openStore,
  putFlow,
  putRun,
  putRunEvent,
  putTaskRun,
  type RunSpec,
  request,
  runState,
  type Store,
} from "../support/storage-rows.ts";

type Step =
  | { kind: "create"; type: StateType; tags: string[] }
  | { kind: "move"; pick: number; type: StateType }
  | { kind: "task"; pick: number; type: StateType; task: number }
  | { kind: "event"; pick: number }
  | { kind: "logs"; pick: number; lines: number }
  | { kind: "lease"; pick: number }
  | { kind: "delete"; pick: number };

const type = fc.constantFrom(...STATE_TYPES);
const pick = fc.nat(1_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("create" as const), type, tags: fc.subarray(["x", "y"]) }),
  fc.record({ kind: fc.constant("move" as const), pick, type }),
  fc.record({ kind: fc.constant("move" as const), pick, type }),
  fc.record({ kind: fc.constant("task" as const), pick, type, task: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant("event" as const), pick }),
  fc.record({ kind: fc.constant("logs" as const), pick, lines: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant("lease" as const), pick }),
  fc.record({ kind: fc.constant("delete" as const), pick }),
);
/** Decisions of some steps each; the flag ends a batch. */
const plan = fc.array(fc.tuple(fc.array(step, { maxLength: 6 }), fc.boolean()), { minLength: 1, maxLength: 14 });

/** A simple model of the decisions' effects. */
interface Model {
  runs: Map<number, RunSpec>;
  tasks: Map<number, { run: number; type: StateType }>;
  leases: Map<number, number>;
  logs: Map<number, string[]>;
  counts: Map<string, number>;
  events: number;
  nextRun: number;
  nextLease: number;
}

function emptyModel(): Model {
  return { ...maps(), events: 0, nextRun: 1, nextLease: 1 };
}

function maps() {
  return { runs: new Map(), tasks: new Map(), leases: new Map(), logs: new Map(), counts: new Map() };
}

interface Parts {
  ops: Primitive[];
  logs: Primitive[];
}

function addCount(model: Model, ops: Primitive[], state: StateType, delta: number): void {
  model.counts.set(state, (model.counts.get(state) ?? 0) + delta);
  putOperation(ops, "count_runs", { flow_id: 1, state_type: state, delta });
}

function create(model: Model, ops: Primitive[], state: StateType, tags: string[]): void {
  const id = model.nextRun++;
  const end = isTerminal(state) ? 20 : null;
  const times = { created: 10, start: null, end, scheduled: null, schedule: null, backfill: null };
  const run: RunSpec = { id, flow: 1, name: `r${id}`, tags, type: state, stateName: state, ...times };
  model.runs.set(id, run);
  putRun(ops, run);
  addCount(model, ops, state, 1);
}

function move(model: Model, ops: Primitive[], run: RunSpec, state: StateType): void {
  addCount(model, ops, run.type, -1);
  addCount(model, ops, state, 1);
  Object.assign(run, { type: state, stateName: state, start: run.start ?? 15, end: isTerminal(state) ? 30 : null });
  putOperation(ops, "update_run", { id: run.id, ...runState(run) });
}

function remove(model: Model, ops: Primitive[], run: RunSpec): void {
  model.runs.delete(run.id);
  model.logs.delete(run.id);
  for (const [id, task] of model.tasks) if (task.run === run.id) model.tasks.delete(id);
  for (const [id, owner] of model.leases) if (owner === run.id) model.leases.delete(id);
  addCount(model, ops, run.type, -1);
  putOperation(ops, "delete_run", { id: run.id });
}

function take(model: Model, parts: Parts, one: Step): void {
  const { ops } = parts;
  const run = [...model.runs.values()][one.kind === "create" ? 0 : one.pick % Math.max(1, model.runs.size)];
  if (one.kind === "create") create(model, ops, one.type, one.tags);
  else if (run === undefined) return;
  else if (one.kind === "move") move(model, ops, run, one.type);
  else if (one.kind === "delete") remove(model, ops, run);
  else if (one.kind === "logs") addLogs(model, parts.logs, run.id, one.lines);
  else if (one.kind === "event") {
    model.events++;
    putRunEvent(ops, "run.running", run.id, 1, run.type, 5);
  } else if (one.kind === "task") {
    model.tasks.set(run.id * 10 + one.task, { run: run.id, type: one.type });
    putTaskRun(ops, run.id * 10 + one.task, run.id, one.type, one.type);
  } else {
    model.leases.set(model.nextLease, run.id);
    const lease = { id: model.nextLease++, run_id: run.id, kind: "run" } as const;
    putOperation(ops, "insert_lease", { ...lease, resources: '{"r":1}', created_at: 3 });
  }
}

function addLogs(model: Model, logs: Primitive[], run: number, count: number): void {
  const known = model.logs.get(run) ?? [];
  const texts = Array.from({ length: count }, (_, index) => `${known.length + index}`);
  model.logs.set(run, [...known, ...texts]);
  const lines = texts.map((text): LogLine => [null, 20, "l", 1, text]);
  logs.push(run, 0, lines.length, 4, JSON.stringify(lines));
}

/** The stream entries of each decision. */
const STREAM: readonly Primitive[] = [0, 1, 4, 0];

/** A batch of these decisions. Logs of a run deleted in the same batch precede its operations, as the writer applies them. */
function batchOf(model: Model, decisions: readonly Step[][]): Parts & { stream: Primitive[] } {
  const parts: Parts = { ops: [], logs: [] };
  for (const one of decisions.flat()) take(model, parts, one);
  return { ...parts, stream: decisions.flatMap(() => STREAM) };
}

function dump(database: Database): unknown {
  const names = database.prepare<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  return names.map(({ name }) => [name, database.prepareRaw(`SELECT * FROM ${name}`).all()]);
}

function tagsOf({ statements }: Store, run: number): unknown {
  return JSON.parse(readTexts(statements, run)?.tags ?? "null");
}

function checkStore(t: Test, store: Store, model: Model): void {
  const loaded: LoadedStore = loadStore(store.database);
  const living = [...model.runs.values()].filter((run) => !isTerminal(run.type));
  t.strictSame(
    [...unfinishedRuns(store.statements)].map(({ run: { id, state_type } }) => [id, state_type, tagsOf(store, id)]),
    living.map((run) => [run.id, run.type, run.tags]),
    "unfinished runs",
  );
  for (const run of model.runs.values()) {
    const one = loadRun(store.statements, run.id);
    t.match(one?.run, { state_type: run.type, end_time: run.end, start_time: run.start });
    const tasks = [...model.tasks].filter(([, task]) => task.run === run.id).sort(([a], [b]) => a - b);
    t.strictSame(
      one?.task_runs.map((task) => [task.id, task.state_type]),
      tasks.map(([id, task]) => [id, task.type]),
      "task runs",
    );
    const blocks = store.statements.raw<[string]>("SELECT lines FROM log_blocks WHERE run_id = ? ORDER BY id").all(run.id);
    t.strictSame(
      blocks.flatMap(([lines]) => readLines(lines).map((line) => line[4])),
      model.logs.get(run.id) ?? [],
      "log lines",
    );
  }
  t.strictSame(
    loaded.leases.map((lease) => lease.id),
    [...model.leases.keys()],
    "leases",
  );
  for (const { state_type, count } of loaded.counts) t.equal(count, model.counts.get(state_type), `count of ${state_type}`);
  t.equal(store.statements.raw<[number]>("SELECT count(*) FROM events").get()?.[0], model.events, "events stay");
  t.equal(loaded.next_ids.runs, model.nextRun, "ids never return");
  t.equal(loaded.next_ids.events, model.events + 1);
}

t.test("the store holds what the decisions said, also when batches are committed again by a new writer", async (t) => {
  const property = fc.property(plan, (decisions) => {
    const store = openStore();
    const model = emptyModel();
    const flow: Primitive[] = [];
    putFlow(flow, 1, "p", "a");
    store.writer.commit(request(store.writer, 1, { ops: flow }));
    let writer = store.writer;
    let collected: Step[][] = [];
    const requests: CommitRequest[] = [];
    const results: CommitResult[] = [];
    const commit = () => {
      const one = request(writer, requests.length + 2, batchOf(model, collected));
      requests.push(one);
      results.push(writer.commit(one));
      writer = new Writer(store.database, { stream: "continue", nowUs: () => 0 });
      const before = dump(store.database);
      t.strictSame(writer.commit(one), results.at(-1), "a repeated commit gets the same numbers");
      for (const earlier of requests.slice(0, -1)) t.throws(() => writer.commit(earlier), /does not follow commit/);
      t.strictSame(dump(store.database), before, "and changes nothing");
      collected = [];
    };
    for (const [steps, ends] of decisions) {
      collected.push(steps);
      if (ends) commit();
    }
    if (collected.length > 0) commit();
    checkStore(t, store, model);
    store.database.close();
  });
  fc.assert(property, { numRuns: 60 });
});
