/**
 * Plays recorded batches (record-batches.ts) into SQLite and PostgreSQL in turns, each into a new store, and prints for each the
 * processor time of a run (the client's and, of PostgreSQL, that of all processes of the server), runs per second, the median
 * time of a commit, and for PostgreSQL the WAL per run and the share of HOT updates. The ratio is that of the processor times of
 * one round. A first round, in which both clients are compiled, is not printed.
 *
 *   node --conditions=millrace-src test/load/postgres-replay.ts --recording FILE [--rounds 3] [--merge 1] [--flush off]
 *     [--one-table] [--sql "ALTER TABLE live_runs SET (fillfactor = 100)"] [--check]
 *
 * --merge N joins N batches into one commit; --flush off commits without a flush in both stores; --one-table keeps ended runs
 * among the living, under the indexes of both; --sql changes the schema of each new database; --check compares the rows.
 */
import { deepStrictEqual } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { deserialize } from "node:v8";
import type { CommitRequest } from "#storage/port";
import { commitFolded } from "#storage/postgres/commit";
import { CommitMessages, type Rows, WRITER_SETTINGS } from "#storage/postgres/commit-messages";
import { Connection, type Settings } from "#storage/postgres/connection";
import { BatchFolder } from "#storage/postgres/fold-batch";
import { loadMarks } from "#storage/postgres/marks";
import { MEMBER, takeOver } from "#storage/postgres/member-row";
import { migratePostgres } from "#storage/postgres/migrate";
import { type Part, RUN_PARTS } from "#storage/postgres/parts";
import { COLUMNS, OPERATION_NAMES } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { type PostgresServer, postgresPrograms, startPostgres } from "../support/postgres-server.ts";
import { dumpPostgres, dumpSqlite, type StoreDump } from "../support/store-dump.ts";
import { familyCpuUs } from "./process-usage.ts";

const { values: options } = parseArgs({
  options: {
    recording: { type: "string" },
    rounds: { type: "string", default: "3" },
    merge: { type: "string", default: "1" },
    flush: { type: "string", default: "on" },
    "one-table": { type: "boolean", default: false },
    sql: { type: "string", default: "" },
    check: { type: "boolean", default: false },
  },
});

const LENGTH_BYTES = 4;
/** The time of the commits in the marks of runs: the same for both stores. */
const nowUs = () => 1_800_000_000_000_000;

interface Figures {
  cpuUs: number;
  seconds: number;
  /** Median time of a commit. */
  p50Us: number;
  dump: StoreDump | null;
}

function readRecording(file: string): CommitRequest[] {
  const bytes = readFileSync(file);
  const requests: CommitRequest[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    requests.push(deserialize(bytes.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length)) as CommitRequest);
    at += LENGTH_BYTES + length;
  }
  return requests;
}

/** Joins each `count` requests into one, numbered 1, 2, 3 ... */
function merged(requests: readonly CommitRequest[], count: number): CommitRequest[] {
  const joined: CommitRequest[] = [];
  for (let at = 0; at < requests.length; at += count) {
    const group = requests.slice(at, at + count);
    const [first] = group;
    if (first === undefined) continue;
    const batches = group.map(({ batch }) => batch);
    const lists = {
      ops: batches.flatMap(({ ops }) => ops),
      stream: batches.flatMap(({ stream }) => stream),
      replies: batches.flatMap(({ replies }) => replies),
    };
    const logs = {
      ...first.logs,
      blocks: group.flatMap(({ logs: { blocks } }) => blocks),
      appended: group.flatMap(({ logs: { appended } }) => appended),
    };
    joined.push({ batch: { ...first.batch, ...lists, number: joined.length + 1 }, logs });
  }
  return joined;
}

function runsOf(requests: readonly CommitRequest[]): number {
  let runs = 0;
  for (const { batch } of requests) {
    for (let at = 0; at < batch.ops.length; ) {
      const name = OPERATION_NAMES[Number(batch.ops[at])];
      if (name === undefined) throw new Error("the recording is of another version");
      if (name === "insert_run") runs += 1;
      at += COLUMNS[name].length + 1;
    }
  }
  return runs;
}

function ownCpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function playSqlite(requests: readonly CommitRequest[]): Figures {
  const folder = mkdtempSync(join(tmpdir(), "millrace-replay-"));
  const database = openWriteHandle(join(folder, "db.sqlite"), {
    durability: options.flush === "off" ? "normal" : "full",
    salt: 1,
  });
  const writer = new Writer(database, { stream: "continue", nowUs });
  const [cpu, start] = [ownCpuUs(), performance.now()];
  const ends = requests.map((request) => {
    writer.commit(request);
    return performance.now();
  });
  const figures = { cpuUs: ownCpuUs() - cpu, seconds: (performance.now() - start) / 1000, p50Us: medianStepUs(start, ends) };
  const dump = options.check ? dumpSqlite(database) : null;
  database.close();
  rmSync(folder, { recursive: true });
  return { ...figures, dump };
}

/** The median of the times between one end and the next. */
function medianStepUs(start: number, ends: readonly number[]): number {
  const steps = ends.map((end, index) => end - (ends[index - 1] ?? start)).sort((a, b) => a - b);
  return Math.round((steps[Math.floor(steps.length / 2)] ?? 0) * 1000);
}

/** The rows of one table of runs: ended runs are updated like living ones. */
function inOneTable(rows: Rows): Rows {
  const target = new Map<Part, Part>([
    [RUN_PARTS.ended, RUN_PARTS.moved],
    [RUN_PARTS.endedBefore, RUN_PARTS.moved],
    [RUN_PARTS.revived, RUN_PARTS.moved],
    [RUN_PARTS.insertedEnded, RUN_PARTS.inserted],
  ]);
  const joined: Rows = new Map();
  for (const [part, added] of rows) {
    const to = target.get(part) ?? part;
    joined.set(to, [...(joined.get(to) ?? []), ...added]);
  }
  return joined;
}

/** Indexes of ended runs over the table of living ones. */
async function indexOneTable(connection: Connection): Promise<void> {
  const indexes = await connection.rows<[string]>(
    "SELECT indexdef FROM pg_indexes WHERE tablename = 'runs' AND indexname <> 'runs_pkey'",
  );
  for (const [text] of indexes) {
    const ended = text.includes(" WHERE ")
      ? text.replace(" WHERE ", " WHERE end_time IS NOT NULL AND ")
      : `${text} WHERE end_time IS NOT NULL`;
    await connection.run(
      ended.replace(/INDEX \w+ ON public.runs/, (found) => found.replace(" ON public.runs", "_one ON live_runs")),
    );
  }
}

async function playPostgres(server: PostgresServer, settings: Settings, requests: readonly CommitRequest[]) {
  const connection = await Connection.open(settings);
  await migratePostgres(connection);
  if (options["one-table"]) await indexOneTable(connection);
  if (options.sql !== "") await connection.run(options.sql);
  await connection.run(`${WRITER_SETTINGS}; SET synchronous_commit = ${options.flush}`);
  const { epoch, counters } = await takeOver(connection, { stream: "continue" });
  const folder = new BatchFolder(await loadMarks(connection, counters), nowUs);
  const commits = new CommitMessages();
  const wal = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn";
  const [[walBefore] = [0]] = await connection.rows<[string | number]>(wal);
  const [client, serverCpu, start] = [ownCpuUs(), familyCpuUs(server.pid), performance.now()];
  const ends: number[] = [];
  for (const request of requests) {
    const folded = folder.fold(request);
    if (options["one-table"]) folded.steps = folded.steps.map((step) => (step instanceof Map ? inOneTable(step) : step));
    const divergence = await commitFolded(connection, commits, { member: MEMBER, epoch }, folded);
    if (divergence !== null) throw new Error(`the store differs from the recording: ${divergence.statement}`);
    ends.push(performance.now());
  }
  const p50Us = medianStepUs(start, ends);
  const seconds = (performance.now() - start) / 1000;
  const clientUs = ownCpuUs() - client;
  const serverUs = familyCpuUs(server.pid) - serverCpu;
  const [[walAfter] = [0]] = await connection.rows<[string | number]>(wal);
  const dump = options.check ? await dumpPostgres(connection) : null;
  await connection.close();
  const counted = await Connection.open(settings);
  const hot = await counted.rows<[string, number, number]>(
    "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE n_tup_upd > 0 ORDER BY n_tup_upd DESC LIMIT 8",
  );
  await counted.close();
  return { cpuUs: clientUs + serverUs, clientUs, serverUs, seconds, p50Us, dump, wal: Number(walAfter) - Number(walBefore), hot };
}

async function main(): Promise<void> {
  const programs = postgresPrograms();
  if (options.recording === undefined || programs === null) throw new Error("needs --recording FILE and an installed PostgreSQL");
  const requests = merged(readRecording(options.recording), Number(options.merge));
  const runs = runsOf(requests);
  console.log(`${runs} runs in ${requests.length} commits`);
  const server = await startPostgres(programs, ["shared_buffers = 256MB", "max_wal_size = 4GB"]);
  try {
    for (let round = 0; round <= Number(options.rounds); round += 1) {
      const settings = await server.database(`round${round}`);
      const sqlite = playSqlite(requests);
      const postgres = await playPostgres(server, settings, requests);
      if (options.check) deepStrictEqual(postgres.dump, sqlite.dump);
      if (round === 0) continue;
      const us = (total: number) => (total / runs).toFixed(1);
      const each = (total: number) => Math.round(total / requests.length);
      console.log(
        `SQLite      ${us(sqlite.cpuUs)} us/run, ${each(sqlite.cpuUs)} us/commit, ${Math.round(runs / sqlite.seconds)} runs/s, ` +
          `p50 ${sqlite.p50Us} us`,
      );
      console.log(
        `PostgreSQL  ${us(postgres.cpuUs)} us/run (client ${us(postgres.clientUs)}, server ${us(postgres.serverUs)}), ` +
          `${each(postgres.cpuUs)} us/commit (${each(postgres.clientUs)}, ${each(postgres.serverUs)}), ` +
          `${Math.round(runs / postgres.seconds)} runs/s, p50 ${postgres.p50Us} us, ${Math.round(postgres.wal / runs)} B WAL/run, ` +
          `ratio ${(postgres.cpuUs / sqlite.cpuUs).toFixed(2)}`,
      );
      console.log(
        `  HOT: ${postgres.hot.map(([table, all, hot]) => `${table} ${((100 * hot) / all).toFixed(0)} % of ${all}`).join(", ")}`,
      );
    }
  } finally {
    server.stop();
  }
}

await main();
