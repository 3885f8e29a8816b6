/**
 * Fills a SQLite store and a PostgreSQL store with the same rows, by one SQL text for each table: the runs of 20 flows, 200 of
 * them not ended, with tags, schedules and a backfill, a task run and two events each, and the indexes that the writers maintain.
 */
import { Connection } from "#storage/postgres/connection";
import { migratePostgres } from "#storage/postgres/migrate";
import { COUNT_KIND, STRETCH_IDS, STRETCH_KIND, stateCode } from "#storage/schema/codes";
import { openWriteHandle } from "#storage/write/write-handle";
import type { TestDatabase } from "../support/postgres-server.ts";
import type { FilledStore } from "./list-calls.ts";

export const FLOWS = 20;
const LIVE = 200;
const START_US = 1_700_000_000_000_000;
const TAGS = ["nightly", "hourly", "team-a", "team-b", "release"];
const EVENTS = ["run.scheduled", "run.completed"];

/** What the two databases write differently. */
interface Dialect {
  /** The rows n of 1 to a count, as a FROM clause. */
  upTo: (count: number) => string;
  /** A number as 16 bytes. */
  bytes: (number: string) => string;
  /** A table of runs, and the condition on n of its rows. */
  runs: (count: number) => readonly (readonly [table: string, condition: string])[];
  text: (text: string) => string;
  packed: readonly [column: string, value: string];
}

const SQLITE: Dialect = {
  upTo: (count) => `(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) SELECT n FROM s)`,
  bytes: (number) => `unhex(printf('%032x', ${number}))`,
  runs: () => [["runs", "TRUE"]],
  text: (text) => text,
  packed: ["", ""],
};

const POSTGRES: Dialect = {
  upTo: (count) => `generate_series(1::bigint, ${count}) AS s (n)`,
  bytes: (number) => `decode(lpad(to_hex(${number}), 32, '0'), 'hex')`,
  runs: (count) => [
    ["ended_runs", `n <= ${count - LIVE}`],
    ["live_runs", `n > ${count - LIVE}`],
  ],
  text: (text) => `convert_to(${text}, 'UTF8')`,
  packed: [", packed", ", 0"],
};

/** Makes the external ids of events. */
const SALT = 1;

/** The statements that fill a store. */
function* statementsOf(dialect: Dialect, count: number): Generator<string> {
  const { upTo, bytes } = dialect;
  yield `INSERT INTO flows (id, external_id, project, name, module, source_dir, created_at, last_seen_at)
    SELECT n, ${bytes("n")}, 'p' || (n % 4), 'flow-' || n, 'm', '/', 1, 1 FROM ${upTo(FLOWS)}`;
  const names = [...TAGS, ...EVENTS].map((name, index) => `(${index + 1}, '${name}')`);
  yield `INSERT INTO names (id, name) VALUES ${names.join(", ")}`;
  for (const [table, condition] of dialect.runs(count)) yield runsOf(dialect, count, table, condition);
  yield `INSERT INTO run_tags (tag, run_id) SELECT 1 + n % ${TAGS.length}, n FROM ${upTo(count)}`;
  yield `INSERT INTO task_runs (id, external_id, run_id, state_type, state_timestamp, start_time, end_time, total_run_time,
      crash_count, failure_count, created_at, name, task_key, dynamic_key)
    SELECT n, ${bytes(`n + ${count}`)}, n, ${stateCode("Completed")}, at, at, at + 900, 900, 0, 0, at, 'transform', 'tasks.transform',
      'transform-0' FROM (SELECT n, ${START_US} + n * 1000 AS at FROM ${upTo(count)}) AS tasks`;
  yield `INSERT INTO events (id, name, occurred, run_id, flow_id, state_type)
    SELECT n, ${TAGS.length + 1} + n % 2, ${START_US} + n * 500, (n + 1) / 2, 1 + ((n + 1) / 2) % ${FLOWS},
      CASE n % 2 WHEN 0 THEN ${stateCode("Scheduled")} ELSE ${stateCode("Completed")} END FROM ${upTo(2 * count)}`;
  yield `INSERT INTO log_blocks (id, run_id, attempt, count, level_mask, lines${dialect.packed[0]})
    SELECT n, n, 0, 1, 4, ${dialect.text(`'[[null,20,"l",' || n || ',"wrote partition ' || n || '"]]'`)}${dialect.packed[1]}
    FROM ${upTo(count)}`;
  yield* indexes();
}

function runsOf({ upTo, bytes }: Dialect, count: number, table: string, condition: string): string {
  const ended = `n <= ${count - LIVE}`;
  const state = `CASE WHEN n > ${count - LIVE / 2} THEN ${stateCode("Scheduled")} WHEN NOT ${ended} THEN ${stateCode("Running")}
      WHEN n % 50 = 0 THEN ${stateCode("Failed")} ELSE ${stateCode("Completed")} END`;
  const took = "100 + (n * 104729) % 900000";
  const planned = "n % 10 = 0";
  return `INSERT INTO ${table} (id, external_id, flow_id, state_type, state_name, state_timestamp, created_at, start_time, end_time,
      total_run_time, scheduled_time, schedule_id, backfill_id, priority, attempt, report_seq, crash_count, failure_count,
      assignment_id, engine_id, created_by, name, tags, parameters, state_received, task_counts)
    SELECT n, ${bytes("n")}, 1 + n % ${FLOWS}, ${state}, CASE WHEN n % 5000 = 0 AND ${ended} THEN 'TimedOut' END, at, at,
      CASE WHEN n <= ${count - LIVE / 2} THEN at + 2 END, CASE WHEN ${ended} THEN at + 2 + ${took} END,
      CASE WHEN ${ended} THEN ${took} END, CASE WHEN ${planned} THEN at END, CASE WHEN ${planned} THEN 1 + n / 10 % 50 END,
      CASE WHEN n BETWEEN 1000 AND 1999 THEN 1 END, 0, 1, 2, 0, 0, n, 'engine-1', 'api', 'orders-' || ((n * 7919) % 1000003),
      '["tag"]', '{"count":1200,"date":"2026-11-20","source":"orders"}', CASE WHEN ${ended} THEN at + 3 + ${took} END,
      '{"Completed":1}'
    FROM (SELECT n, ${START_US} + n * 1000 AS at FROM ${upTo(count)}) AS made WHERE ${condition}`;
}

/** What the writers derive from the rows. */
function* indexes(): Generator<string> {
  const start = "coalesce(start_time, created_at)";
  yield `INSERT INTO run_times (stretch, start_min, start_max)
    SELECT id / ${STRETCH_IDS}, min(${start}), max(${start}) FROM runs GROUP BY id / ${STRETCH_IDS}`;
  yield `INSERT INTO event_times (stretch, occurred_min, occurred_max, log_id)
    SELECT id / ${STRETCH_IDS}, min(occurred), max(occurred), 0 FROM events GROUP BY id / ${STRETCH_IDS}`;
  const { event_flow, event_name, task_flow, task_state } = STRETCH_KIND;
  const stretches = [
    [event_flow, "x.flow_id", "events x"],
    [event_name, "x.name", "events x"],
    [task_flow, "r.flow_id", "task_runs x JOIN runs r ON r.id = x.run_id"],
    [task_state, "x.state_type", "task_runs x"],
  ] as const;
  for (const [kind, value, from] of stretches)
    yield `INSERT INTO stretches (kind, value, stretch) SELECT DISTINCT ${kind}, ${value}, x.id / ${STRETCH_IDS} FROM ${from}`;
  yield `INSERT INTO counts (flow_id, kind, state_type, count)
    SELECT flow_id, ${COUNT_KIND.runs}, state_type, count(*) FROM runs GROUP BY flow_id, state_type`;
}

export function filledStore(count: number): FilledStore {
  const uuidOf = (run: number) =>
    run
      .toString(16)
      .padStart(32, "0")
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { runs: count, startUs: START_US, uuidOf };
}

/** @param path of a file that does not exist */
export function fillSqlite(path: string, count: number): void {
  const database = openWriteHandle(path, { durability: "normal", salt: SALT });
  for (const sql of statementsOf(SQLITE, count)) database.exec(sql);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
}

/** @param place an empty database */
export async function fillPostgres(place: TestDatabase, count: number): Promise<void> {
  const connection = await Connection.open(place);
  await migratePostgres(connection);
  await connection.run(`INSERT INTO settings (name, value) VALUES ('event_salt', '${SALT}')`);
  for (const sql of statementsOf(POSTGRES, count)) await connection.run(sql);
  // As autovacuum does.
  await connection.run("VACUUM ANALYZE");
  await connection.close();
}
