/**
 * The store at scale: fills it with full runs through the store writer, then times every sort and filter of the lists.
 *
 *   node --conditions=millrace-src test/load/storage-scale.ts [--runs 1000000] [--per-commit 64] [--path FILE]
 *   [--checkpoint-pages N] [--without INDEX,...]
 */
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { loadStore } from "#storage/load/load";
import type { CommitRequest } from "#storage/port";
import { openReadHandle } from "#storage/read/read-handle";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import { Statements } from "#storage/sqlite/statements";
import { putOperation, type RunStateRow } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { eventRow, flowRow, runRow, stateRow, taskRow } from "../support/storage-rows.ts";
import { listCalls } from "./list-calls.ts";

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    "per-commit": { type: "string", default: "64" },
    path: { type: "string" },
    "checkpoint-pages": { type: "string" },
    without: { type: "string", default: "" },
  },
});
const RUNS = Number(options.runs);
const PER_COMMIT = Number(options["per-commit"]);
const FLOWS = 20;
const START_US = 1_700_000_000_000_000;
const STATES = ["Scheduled", "Pending", "Running", "Completed"] as const;
const PARAMETERS = '{"count":1200,"date":"2026-11-20","source":"orders"}';

function uuid(id: number, family: number): string {
  const low = ((id * 2_654_435_761) >>> 0).toString(16).padStart(8, "0");
  return `${id.toString(16).padStart(8, "0")}-0000-7000-8${family}00-0000${low}`;
}

function stateOf(id: number, stage: number, at: number): RunStateRow {
  const failed = id % 50 === 0;
  const type = stage === 3 && failed ? "Failed" : (STATES[stage] ?? "Completed");
  const start = stage >= 2 ? at : null;
  const end = stage === 3 ? at + 100 + ((id * 104_729) % 900_000) : null;
  return stateRow(type, {
    state_timestamp: at,
    start_time: start,
    end_time: end,
    total_run_time: end === null ? null : end - at,
    engine_id: "engine-1",
    engine_pid: 77,
    assignment_id: id,
    assigned: stage < 3 ? 1 : 0,
    report_seq: stage,
    failure_count: failed ? 1 : 0,
  });
}

/** Operations of one run in one of its four commits. */
function writeStage(ops: Primitive[], logs: Primitive[], id: number, stage: number): void {
  const at = START_US + id * 1_000;
  const flow = 1 + (id % FLOWS);
  const event = (name: string, task: number | null, type: StateType): void => {
    const row = { run_id: id, flow_id: flow, task_run_id: task, state_type: type, state_name: type };
    putOperation(ops, "insert_event", eventRow(name, at + stage, row));
  };
  const count = (type: StateType, delta: number): void =>
    putOperation(ops, "count_runs", { flow_id: flow, state_type: type, delta });
  const state = STATES[stage] ?? "Completed";
  if (stage === 0) {
    const row = runRow(id, stateOf(id, 0, at), {
      external_id: uuid(id, 0),
      flow_id: flow,
      name: `orders-${(id * 7_919) % 1_000_003}`,
      parameters: PARAMETERS,
      created_by: "api",
      created_at: at,
    });
    putOperation(ops, "insert_run", row);
    putOperation(ops, "update_run", { id, ...stateOf(id, 0, at) });
    count("Scheduled", 1);
  } else {
    putOperation(ops, "update_run", { id, ...stateOf(id, stage, at) });
    count(STATES[stage - 1] ?? "Scheduled", -1);
    count(state, 1);
  }
  event(["run.scheduled", "run.pending", "run.running", "run.completed"][stage] ?? "", null, state);
  if (stage !== 2) return;
  const lines: [number, number, string, number, string][] = [];
  for (let index = 0; index < 3; index++) {
    const task = id * 3 + index;
    const row = taskRow(task, id, "Completed", {
      external_id: uuid(task, 1),
      name: "transform",
      task_key: "tasks.transform",
      dynamic_key: `transform-${index}`,
      state_timestamp: at,
      start_time: at,
      end_time: at + 900,
      total_run_time: 900,
      created_at: at,
    });
    putOperation(ops, "put_task_run", row);
    event("task_run.running", task, "Running");
    event("task_run.completed", task, "Completed");
  }
  putOperation(ops, "count_task_runs", { flow_id: flow, state_type: "Completed", delta: 3 });
  for (let index = 0; index < 10; index++)
    lines.push([
      id * 3 + (index % 3),
      index === 9 ? 30 : 20,
      "millrace.run",
      at + index,
      `wrote partition 2026-11-20 (${id}/${index})`,
    ]);
  logs.push(id, 0, 10, 12, JSON.stringify(lines));
}

function requestOf(writer: Writer, number: number, first: number, stage: number): CommitRequest {
  const ops: Primitive[] = [];
  const logs: Primitive[] = [];
  for (let id = first; id < first + PER_COMMIT; id++) writeStage(ops, logs, id, stage);
  return {
    batch: { kind: "Batch", number, generation: 1, refusals: 0, epoch: null, ops, logs, replies: [], stream: [], runs: [] },
    logs: buildLogBlocks(logs, writer.nextLogId),
  };
}

function fill(path: string): void {
  const database = openWriteHandle(path, { durability: "normal" });
  if (options["checkpoint-pages"] !== undefined)
    database.exec(`PRAGMA wal_autocheckpoint = ${Number(options["checkpoint-pages"])}`);
  for (const index of options.without.split(",")) if (index !== "") database.exec(`DROP INDEX ${index}`);
  const writer = new Writer(database, { stream: "new_block", nowUs: () => 0 });
  const ops: Primitive[] = [];
  for (let id = 1; id <= FLOWS; id++)
    putOperation(ops, "insert_flow", flowRow(id, { external_id: uuid(id, 9), project: `p${id % 4}`, name: `flow-${id}` }));
  let number = 1;
  const place = { number, generation: 1, refusals: 0, epoch: null } as const;
  const batch = { kind: "Batch", ...place, ops } as const;
  writer.commit({ batch: { ...batch, logs: [], replies: [], stream: [], runs: [] }, logs: buildLogBlocks([], 1) });
  let applyUs = 0;
  const commitsMs: number[] = [];
  const tenth = Math.ceil(RUNS / 10 / PER_COMMIT) * PER_COMMIT;
  for (let first = 1; first <= RUNS + PER_COMMIT * 4; first += PER_COMMIT) {
    for (let stage = 0; stage < 4; stage++) {
      const from = first - stage * PER_COMMIT;
      if (from < 1 || from + PER_COMMIT - 1 > RUNS) continue;
      const request = requestOf(writer, ++number, from, stage);
      const started = process.hrtime.bigint();
      const before = process.cpuUsage();
      writer.commit(request);
      const used = process.cpuUsage(before);
      commitsMs.push(Number(process.hrtime.bigint() - started) / 1e6);
      applyUs += used.user + used.system;
    }
    if ((first - 1) % tenth === 0 && first > 1) {
      console.log(`${first - 1} runs: ${(applyUs / tenth).toFixed(1)} us CPU per run in the writer`);
      applyUs = 0;
    }
  }
  commitsMs.sort((a, b) => a - b);
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => commitsMs[Math.ceil(commitsMs.length * part) - 1]?.toFixed(1));
  console.log(`commits: median ${p50} ms, 99th percentile ${p99} ms, longest ${most} ms`);
  writer.checkpoint();
  database.close();
}

/** Median and 99th percentile of some calls, after two that warm the caches. */
function time(label: string, call: (index: number) => unknown): void {
  const took: number[] = [];
  for (let index = -2; index < 40; index++) {
    const before = process.hrtime.bigint();
    call(index);
    if (index >= 0) took.push(Number(process.hrtime.bigint() - before) / 1e6);
  }
  took.sort((a, b) => a - b);
  console.log(`${label} | ${(took[20] ?? 0).toFixed(2)} | ${(took[39] ?? 0).toFixed(2)}`);
}

function timeLists(path: string): void {
  const opened = process.hrtime.bigint();
  const database = openReadHandle(path);
  const statements = new Statements(database);
  loadStore(database);
  console.log(`open and load: ${(Number(process.hrtime.bigint() - opened) / 1e6).toFixed(1)} ms`);
  console.log("list | median ms | p99 ms");
  const filled = { runs: RUNS, startUs: START_US, uuidOf: (run: number) => uuid(run, 0) };
  for (const { label, call } of listCalls(filled)) time(label, (index) => call(statements, index));
  database.close();
}

const path = options.path ?? join(mkdtempSync(join(tmpdir(), "storage-scale-")), "db.sqlite");
if (!existsSync(path)) fill(path);
if (options.without !== "") process.exit(0);
console.log(`${(statSync(path).size / RUNS).toFixed(0)} bytes per run`);
timeLists(path);
if (options.path === undefined) rmSync(join(path, ".."), { recursive: true });
