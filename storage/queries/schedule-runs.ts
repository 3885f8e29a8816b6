/**
 * GET /api/schedules/runs: runs by schedule and hour of their fire, for calendars.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), columns of the row that has the max (DISTINCT ON).
 */
import { stateType } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { quoted } from "./json.ts";

type Row = [schedule_id: number, state_type: number, state_name: string | null, count: number, time: number, run_id: number];

const HOUR_US = 3_600_000_000;

/** The run of the newest fire. SQLite takes a column without an aggregate from the row that has the maximum. */
const NEWEST = { sqlite: "id", postgres: "(array_agg(id ORDER BY scheduled_time DESC, id))[1]" } as const;

export interface ScheduleRunsArguments extends Continued {
  after: number;
  before: number;
  each: number;
  /** Entries in earlier parts. */
  skip?: number;
}

/**
 * One entry per schedule, hour and state: the number of runs, and the fire and id of the newest. A schedule that fires hourly
 * or less often has one entry per run, as does any hour with at most `each` runs of a schedule.
 */
export function scheduleRuns(statements: Statements, args: ScheduleRunsArguments): AnswerPart<ScheduleRunsArguments> {
  const { after, before, each, skip = 0 } = args;
  const sql = `SELECT schedule_id, state_type, state_name, count(*), max(scheduled_time), ${NEWEST[statements.database.kind]} AS newest
    FROM (SELECT *, scheduled_time / ${HOUR_US} AS hour, count(*) OVER (PARTITION BY schedule_id, scheduled_time / ${HOUR_US}) AS runs
      FROM runs INDEXED BY runs_scheduled
      WHERE scheduled_time >= ? AND scheduled_time < ? AND schedule_id IS NOT NULL) AS fires
    GROUP BY schedule_id, hour, state_type, state_name, CASE WHEN runs <= ? THEN id END
    ORDER BY schedule_id, max(scheduled_time), newest LIMIT ? OFFSET ?`;
  const rows = statements.raw<Row>(sql).iterate(after, before, each, Number.MAX_SAFE_INTEGER, skip);
  return arrayPart(args, rows, render, (_last, done) => ({ skip: skip + done }));
}

function render([schedule, type, name, count, time, run]: Row): string {
  const typeName = stateType(type);
  return `[${schedule},${time},${count},"${typeName}",${quoted(name ?? typeName)},${run}]`;
}
