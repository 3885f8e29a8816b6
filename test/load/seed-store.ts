/**
 * Creates a store with many ended runs, for the list phase and for start times: through the store writer, without a server.
 * Through the API a million runs would take many minutes.
 *
 *   node --conditions=millrace-src test/load/seed-store.ts DIR RUNS [SEED]
 *
 * DIR becomes the home of a server (`--home DIR`) and must not contain a store.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Primitive } from "#protocol/wire/feed";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import { emptyDecision } from "#storage/write/batch";
import { putOperation } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { eventRow, flowRow, runRow, stateRow } from "../support/storage-rows.ts";
import { MIB } from "./process-usage.ts";
import { SeededRandom, uuidV7 } from "./random.ts";

/** Runs per commit: few enough to stay in the cache, enough to spread the commit's cost. */
const RUNS_PER_COMMIT = 500;
const FLOWS = 20;
const TAGS = ["nightly", "hourly", "team-a", "team-b", "release"];
/** Runs lie within this time before now, inside the retention period. */
const SPAN_US = 20 * 86_400_000_000;
/** Durations lie between these, evenly on a logarithmic scale. */
const DURATION_LEAST_US = 20_000;
const DURATION_DOUBLINGS = 15;
const FAILED_PERCENT = 8;
const CANCELLED_PERCENT = 2;
const QUEUE_US = 1_500;

type EndState = "Completed" | "Failed" | "Cancelled";

export interface SeededStore {
  runs: number;
  seconds: number;
  bytes: number;
}

/** Writes `runs` ended runs with their four events each. Throws if `home` contains a store. */
export function seedStore(home: string, runs: number, seed: number): SeededStore {
  const path = join(home, "db.sqlite");
  if (existsSync(path)) throw new Error(`${path} exists: choose a new directory`);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const startedAt = performance.now();
  const database = openWriteHandle(path, { durability: "normal", salt: seed });
  const writer = new Writer(database, { stream: "new_block", nowUs: () => 0 });
  const random = new SeededRandom(seed);
  const newestUs = Date.now() * 1_000;
  let number = 0;
  const commit = (ops: Primitive[]) => {
    number += 1;
    const place = { number, generation: 0, refusals: 0, epoch: null };
    writer.commit({ batch: { kind: "Batch", ...place, ...emptyDecision(), ops }, logs: buildLogBlocks([], writer.nextLogId) });
  };
  commit(flowOperations(random, newestUs - SPAN_US));
  for (let first = 1; first <= runs; first += RUNS_PER_COMMIT) {
    const ops: Primitive[] = [];
    const last = Math.min(runs, first + RUNS_PER_COMMIT - 1);
    for (let id = first; id <= last; id++) putRun(ops, id, newestUs - Math.floor((SPAN_US * (runs - id + 1)) / runs), random);
    commit(ops);
  }
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  return { runs, seconds: (performance.now() - startedAt) / 1_000, bytes: statSync(path).size };
}

function flowOperations(random: SeededRandom, atUs: number): Primitive[] {
  const ops: Primitive[] = [];
  for (let id = 1; id <= FLOWS; id++) {
    const row = flowRow(id, {
      external_id: uuidV7(random, atUs / 1_000),
      project: "load",
      name: id === 1 ? "bench" : `bench-${id}`,
      module: "bench_mod",
      source_dir: "/load",
      created_at: atUs,
      last_seen_at: atUs,
    });
    putOperation(ops, "insert_flow", row);
  }
  return ops;
}

function putRun(ops: Primitive[], id: number, createdUs: number, random: SeededRandom): void {
  const flow = 1 + random.below(FLOWS);
  const type = endState(random);
  const startUs = createdUs + QUEUE_US;
  const duration = Math.round(DURATION_LEAST_US * 2 ** ((DURATION_DOUBLINGS * random.below(1_000)) / 1_000));
  const endUs = startUs + duration;
  const tags = JSON.stringify([TAGS[random.below(TAGS.length)]]);
  const state = stateRow(type, {
    state_timestamp: endUs,
    start_time: startUs,
    end_time: endUs,
    total_run_time: duration,
    engine_id: "load-engine",
    engine_pid: 1,
    report_seq: 2,
    failure_count: type === "Failed" ? 1 : 0,
  });
  const row = runRow(id, state, {
    external_id: uuidV7(random, createdUs / 1_000),
    flow_id: flow,
    name: `load-seed-${id}`,
    tags,
    created_by: "load",
    created_at: createdUs,
  });
  putOperation(ops, "insert_run", row);
  const moves = [
    ["run.scheduled", "Scheduled", createdUs],
    ["run.pending", "Pending", startUs - 1],
    ["run.running", "Running", startUs],
    [`run.${type.toLowerCase()}`, type, endUs],
  ] as const;
  for (const [name, to, atUs] of moves)
    putOperation(ops, "insert_event", eventRow(name, atUs, { run_id: id, flow_id: flow, state_type: to, state_name: to }));
  const counted = { flow_id: flow, state_type: type, delta: 1 };
  putOperation(ops, "count_runs", counted);
  putOperation(ops, "count_ended", { ...counted, ended_at: endUs, task_name: "", duration, state_name: type });
}

function endState(random: SeededRandom): EndState {
  const percent = random.below(100);
  if (percent < FAILED_PERCENT) return "Failed";
  return percent < FAILED_PERCENT + CANCELLED_PERCENT ? "Cancelled" : "Completed";
}

if (process.argv[1] === import.meta.filename) {
  const [home, runs, seed = "1"] = process.argv.slice(2);
  if (home === undefined || !(Number(runs) > 0)) {
    process.stderr.write("usage: node --conditions=millrace-src test/load/seed-store.ts DIR RUNS [SEED]\n");
    process.exitCode = 2;
  } else {
    const made = seedStore(resolve(home), Number(runs), Number(seed));
    process.stdout.write(`${made.runs} runs, ${(made.bytes / MIB).toFixed(0)} MiB, ${made.seconds.toFixed(1)} s\n`);
  }
}
