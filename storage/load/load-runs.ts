/**
 * Loads runs for the core: at its start all unfinished runs, a few rows at a time, so that the rows never take more memory
 * than the runs built from them; later single runs that a command names.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), json_each (= ANY of an array).
 */
import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import type { Statements } from "../sqlite/statements.ts";
import type { StoredRow } from "../write/ops.ts";
import { eachRecord, records } from "./records.ts";

/** `parameters` is LEFT_IN_STORE when the parameters are large and the run is loaded with others. */
export type RunRow = StoredRow<"insert_run">;
export type TaskRunRow = StoredRow<"put_task_run">;

export interface LoadedRun {
  run: RunRow;
  task_runs: TaskRunRow[];
  /** Number of answers given to the run's pauses. */
  answers: number;
}

/** Stands for parameters that are read from the store when needed; JSON text is never empty. */
export const LEFT_IN_STORE = "";
const PARAMETERS_UNLESS_LARGE = `CASE WHEN length(parameters) > ${PARAMETERS_IN_MEMORY_BYTES_MAX} THEN '${LEFT_IN_STORE}' ELSE parameters END`;
/** Runs read per step at a start. */
const READ_AT_ONCE = 200;
const THESE = "(SELECT value FROM json_each(?))";

/** All unfinished runs, by id. */
export function* unfinishedRuns(statements: Statements): Generator<LoadedRun> {
  const unfinished = "SELECT id FROM runs INDEXED BY runs_unfinished WHERE end_time IS NULL ORDER BY id";
  const ids = statements
    .raw<[number]>(unfinished)
    .all()
    .map(([id]) => id);
  for (let index = 0; index < ids.length; index += READ_AT_ONCE) {
    yield* runsOf(statements, JSON.stringify(ids.slice(index, index + READ_AT_ONCE)));
  }
}

function* runsOf(statements: Statements, ids: string): Generator<LoadedRun> {
  const read = (column: string): string => (column === "parameters" ? PARAMETERS_UNLESS_LARGE : column);
  const taskRuns = records(statements, "put_task_run", "task_runs", `WHERE run_id IN ${THESE} ORDER BY id`, [ids]);
  const counted = `SELECT run_id, count(*) FROM answers WHERE run_id IN ${THESE} GROUP BY run_id`;
  const answers = new Map(statements.raw<[number, number]>(counted).all(ids));
  const tasksOf = Map.groupBy(taskRuns, ({ run_id }) => run_id);
  const runs = eachRecord(statements, "insert_run", "runs", `WHERE id IN ${THESE} ORDER BY id`, [ids], read);
  for (const run of runs) yield { run, task_runs: tasksOf.get(run.id) ?? [], answers: answers.get(run.id) ?? 0 };
}

/** One run in any state with its task runs and answers; null for an unknown run. */
export function loadRun(statements: Statements, id: number, withTasks = true): LoadedRun | null {
  const run = records(statements, "insert_run", "runs", "WHERE id = ?", [id])[0];
  if (run === undefined) return null;
  return {
    run,
    task_runs: withTasks ? records(statements, "put_task_run", "task_runs", "WHERE run_id = ? ORDER BY id", [id]) : [],
    answers: statements.raw<[number]>("SELECT count(*) FROM answers WHERE run_id = ?").get(id)?.[0] ?? 0,
  };
}
