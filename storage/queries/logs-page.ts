/**
 * Log lines of a run or task run, oldest first; `after` is exclusive. The last lines of a log are found backwards; if they
 * exceed one part, they are then read forwards from the first of them.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection).
 */
import { ANSWER_PART_BYTES_MAX } from "#protocol/limits";
import type { LogsQuery } from "#protocol/records/log";
import { type LogLine, readLines } from "../schema/log-blocks.ts";
import type { Statements } from "../sqlite/statements.ts";
import { levelBit } from "../write/batch.ts";
import { type AnswerPart, type PageArguments, pagePart, wholeAnswer } from "./answer-part.ts";
import { page, quoted } from "./json.ts";

type BlockRow = [id: number, count: number, lines: string | Uint8Array];
type NumberedLine = [id: number, line: LogLine];

export interface LogsArguments extends PageArguments {
  /** Id of the run or of the task run. */
  id: number;
  query: LogsQuery;
  /** The last lines of the log are requested, so no cursor continues after them. */
  last?: true;
}

/** A part of a page of log lines; `taskRun` is null for all lines of the run. */
export function logsPage(
  statements: Statements,
  run: number,
  taskRun: number | null,
  args: LogsArguments,
): AnswerPart<LogsArguments> {
  const { query, last } = args;
  if (query.tail === true) return tailPage(statements, run, taskRun, args);
  return pagePart(args, {
    limit: query.limit,
    rows: matchingLines(statements, run, taskRun, query),
    render: ([id, line]) => renderLine(run, id, line),
    cursor: ([id]) => id,
    rest: ([after], count) => ({ query: { ...query, after, limit: query.limit - count } }),
    endsEarly: last !== true,
  });
}

/** The last lines; if they exceed one part, all of them from the first. `length_max` drops the oldest lines. */
function tailPage(statements: Statements, run: number, taskRun: number | null, args: LogsArguments): AnswerPart<LogsArguments> {
  const { query } = args;
  const items: string[] = [];
  let length = 0;
  let first = query.after ?? 0;
  let count = 0;
  for (const [id, line] of matchingLines(statements, run, taskRun, query)) {
    if (args.length_max !== undefined && length >= args.length_max) break;
    if (length < (args.length_max ?? ANSWER_PART_BYTES_MAX)) {
      const item = renderLine(run, id, line);
      items.push(item);
      length += item.length;
    }
    first = id;
    count += 1;
    if (count === query.limit) break;
  }
  if (items.length === count) return wholeAnswer(page(items.reverse(), null));
  const forwards = { ...query, tail: false, after: first - 1, limit: count };
  return logsPage(statements, run, taskRun, { ...args, query: forwards, last: true });
}

/** Lines that match the query, newest first with `tail`. */
function* matchingLines(statements: Statements, run: number, taskRun: number | null, query: LogsQuery): Generator<NumberedLine> {
  const level = query.level ?? null;
  const search = query.search === undefined || query.search === "" ? null : query.search.toLowerCase();
  for (const numbered of linesOf(statements, run, query, level === null ? 0xff : levelsFrom(level))) {
    const [task, lineLevel, , , message] = numbered[1];
    if (taskRun !== null && task !== taskRun) continue;
    if (level !== null && lineLevel < level) continue;
    if (search === null || message.toLowerCase().includes(search)) yield numbered;
  }
}

/** Bits of a level and all higher levels. */
export function levelsFrom(level: number): number {
  return ~(levelBit(level) - 1) & 0xff;
}

/** Lines with an id above `after`, from blocks with a level of the mask; newest first with `tail`. */
function* linesOf(
  statements: Statements,
  run: number,
  { after = 0, tail = false }: LogsQuery,
  mask: number,
): Generator<NumberedLine> {
  const sql = `SELECT id, count, lines FROM log_blocks INDEXED BY log_blocks_run
    WHERE run_id = ? AND id > ? AND level_mask & ? != 0 ORDER BY id ${tail ? "DESC" : "ASC"}`;
  for (const [id, count, stored] of statements.raw<BlockRow>(sql).iterate(run, after, mask)) {
    const first = id - count + 1;
    const lines = readLines(stored).map((line, index): NumberedLine => [first + index, line]);
    for (const numbered of tail ? lines.reverse() : lines) if (numbered[0] > after) yield numbered;
  }
}

function renderLine(run: number, id: number, line: LogLine): string {
  return `{${renderLineFields(run, id, line)}}`;
}

export function renderLineFields(run: number, id: number, [task, level, logger, timestamp, message]: LogLine): string {
  return (
    `"id":${id},"run_id":${run},"task_run_id":${task},"level":${level},"logger":${quoted(logger)},` +
    `"message":${quoted(message)},"timestamp":${timestamp}`
  );
}
