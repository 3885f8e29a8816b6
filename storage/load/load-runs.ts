/**
 * Loads runs for the core: at its start all unfinished runs, a few rows at a time, so that the rows never take more memory
 * than the runs built from them; later single runs that a command names.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), json_each (= ANY of an array), json_group_object
 * (json_object_agg; its arrays: json_agg).
 */
import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import { COLUMNS, type StoredRow } from "../write/ops.ts";
import { finisher, records } from "./records.ts";

/** The columns of a run that its texts are made of (readTexts): most waiting runs are loaded long before these are needed. */
const TEXTS = ["external_id", "name", "parameters", "tags"] as const;
/** Length of the texts that stay in memory, in bytes: their characters are not known without reading them. */
const TEXT_LENGTH = `octet_length(name) + ifnull(octet_length(tags), 2)
  + ifnull(octet_length(traceparent), 0)
  + CASE WHEN octet_length(parameters) > ${PARAMETERS_IN_MEMORY_BYTES_MAX} THEN 0 ELSE ifnull(octet_length(parameters), 2) END`;

export type RunRow = Omit<StoredRow<"insert_run">, (typeof TEXTS)[number] | "marks"> & {
  text_length: number;
  marks_length: number;
  lineage_id: number | null;
  caller_run_id: number | null;
};
export type RunTextsRow = Pick<StoredRow<"insert_run">, (typeof TEXTS)[number]> & { traceparent?: string };
export type TaskRunRow = StoredRow<"put_task_run">;

export interface LoadedRun {
  run: RunRow;
  task_runs: readonly TaskRunRow[];
  /** Number of answers given to the run's pauses. */
  answers: number;
}

/** The marks of a run are read by queries alone; the core knows their length. */
const RUN_COLUMNS = COLUMNS.insert_run.filter((column) => column !== "marks" && !TEXTS.some((text) => text === column));
const SELECT_RUNS = `SELECT ${RUN_COLUMNS.join(", ")}, ${TEXT_LENGTH} AS text_length, ifnull(octet_length(marks), 0) AS marks_length,
  lineage_id, caller_run_id FROM runs`;
const finishRun = finisher("insert_run", RUN_COLUMNS);
const finishTexts = finisher("insert_run", TEXTS);

/** Runs read per step at a start. */
const READ_AT_ONCE = 200;
const THESE = "(SELECT value FROM json_each(?))";

/** All unfinished runs except those that stay in the store, by id. */
export function* unfinishedRuns(statements: Statements, away: ReadonlySet<number> = NO_IDS): Generator<LoadedRun> {
  const unfinished = "SELECT id FROM runs INDEXED BY runs_unfinished WHERE end_time IS NULL ORDER BY id";
  // One text, because the driver makes an array of each row.
  const text = statements.raw<[string]>(`SELECT json_group_array(id) FROM (${unfinished}) AS unfinished`).get()?.[0] ?? "[]";
  const ids = (JSON.parse(text) as number[]).filter((id) => !away.has(id));
  const answered = hasAnswers(statements);
  for (let index = 0; index < ids.length; index += READ_AT_ONCE) {
    const slice = JSON.stringify(ids.slice(index, index + READ_AT_ONCE));
    const answers = answered ? answersOf(statements, slice) : NO_ANSWERS;
    const runs = selectRuns(statements, `WHERE id IN ${THESE} ORDER BY id`, slice);
    const tasksOf = Map.groupBy(taskRunsOf(statements, runs), ({ run_id }) => run_id);
    for (const run of runs) yield { run, task_runs: tasksOf.get(run.id) ?? NO_TASK_RUNS, answers: answers.get(run.id) ?? 0 };
  }
}

const NO_IDS: ReadonlySet<number> = new Set();
const NO_ANSWERS: ReadonlyMap<number, number> = new Map();

/** Whether a pause of any run was ever answered. If none was, no run needs a look-up. */
function hasAnswers(statements: Statements): boolean {
  return statements.raw("SELECT 1 FROM answers LIMIT 1").get() !== undefined;
}

function answersOf(statements: Statements, ids: string): Map<number, number> {
  const counted = `SELECT run_id, count(*) FROM answers WHERE run_id IN ${THESE} GROUP BY run_id`;
  return new Map(statements.raw<[number, number]>(counted).all(ids));
}

const NO_TASK_RUNS: readonly TaskRunRow[] = [];

/** The task runs of these runs. Most waiting runs have none, which their counts show. */
function taskRunsOf(statements: Statements, runs: readonly RunRow[]): readonly TaskRunRow[] {
  const ids = runs.flatMap(({ id, task_counts }) => (task_counts === "{}" ? [] : [id]));
  if (ids.length === 0) return NO_TASK_RUNS;
  const rest = `WHERE run_id IN ${THESE} ORDER BY id`;
  return records(statements, "put_task_run", "task_runs", rest, [JSON.stringify(ids)]);
}

function selectRuns(statements: Statements, which: string, value: SqlValue): RunRow[] {
  const rows = statements.named<Record<string, SqlValue>>(`${SELECT_RUNS} ${which}`).all(value);
  for (const row of rows) finishRun(row);
  return rows as unknown as RunRow[];
}

/** One run in any state with its task runs and answers; null for an unknown run. */
export function loadRun(statements: Statements, id: number, withTasks = true): LoadedRun | null {
  const run = selectRuns(statements, "WHERE id = ?", id)[0];
  if (run === undefined) return null;
  return {
    run,
    task_runs: withTasks ? records(statements, "put_task_run", "task_runs", "WHERE run_id = ? ORDER BY id", [id]) : [],
    answers: statements.raw<[number]>("SELECT count(*) FROM answers WHERE run_id = ?").get(id)?.[0] ?? 0,
  };
}

/** Runs without their task runs. */
export function loadRuns(statements: Statements, ids: readonly number[]): LoadedRun[] {
  const these = JSON.stringify(ids);
  const answers = answersOf(statements, these);
  const runs = selectRuns(statements, `WHERE id IN ${THESE}`, these);
  return runs.map((run) => ({ run, task_runs: NO_TASK_RUNS, answers: answers.get(run.id) ?? 0 }));
}

/** The texts of a run in any state; null for an unknown run. */
export function readTexts(statements: Statements, id: number): RunTextsRow | null {
  const sql = "SELECT hex(external_id) AS external_id, name, parameters, tags, traceparent FROM runs WHERE id = ?";
  const row = statements.named<Record<string, SqlValue>>(sql).get(id);
  if (row === undefined) return null;
  finishTexts(row);
  if (row["traceparent"] === null) delete row["traceparent"];
  return row as RunTextsRow;
}
