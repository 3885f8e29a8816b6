/** Log lines of a run or task run, oldest first; `after` is exclusive. */
import type { LogsQuery } from "#protocol/log";
import { levelBit } from "../feed.ts";
import { type LogLine, readLines } from "../log-blocks.ts";
import type { Statements } from "../statements.ts";
import { page, quoted } from "./json.ts";

type BlockRow = [id: number, count: number, lines: string | Uint8Array];

/** Blocks read at once: one report has some ten lines, so a page takes few of these. */
const BLOCKS_READ = 64;

/** Bits of a level and all above it. */
function levelsFrom(level: number): number {
  return ~(levelBit(level) - 1) & 0xff;
}

/** A page of log lines as JSON text; `taskRun` null for all lines of the run. */
export function logsPage(statements: Statements, run: number, taskRun: number | null, query: LogsQuery): string {
  const level = query.level ?? null;
  const search = query.search === undefined || query.search === "" ? null : query.search.toLowerCase();
  const items: string[] = [];
  let last: number | null = null;
  for (const [id, line] of linesOf(statements, run, query, level === null ? 0xff : levelsFrom(level))) {
    const [task, lineLevel, , , message] = line;
    if (taskRun !== null && task !== taskRun) continue;
    if (level !== null && lineLevel < level) continue;
    if (search !== null && !message.toLowerCase().includes(search)) continue;
    if (items.length === query.limit) return query.tail === true ? page(items.reverse(), null) : page(items, last);
    items.push(renderLine(run, id, line));
    last = id;
  }
  return page(query.tail === true ? items.reverse() : items, null);
}

/** Lines with a larger id than `after`, from blocks that have a level of the mask; newest first with `tail`. */
function* linesOf(
  statements: Statements,
  run: number,
  { after = 0, tail = false }: LogsQuery,
  mask: number,
): Generator<[number, LogLine]> {
  const order = tail ? "DESC" : "ASC";
  const sql = `SELECT id, count, lines FROM log_blocks INDEXED BY log_blocks_run
    WHERE run_id = ? AND id > ? AND id < ? AND level_mask & ? != 0 ORDER BY id ${order} LIMIT ${BLOCKS_READ}`;
  let from = after;
  let to = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const blocks = statements.raw<BlockRow>(sql).all(run, from, to, mask);
    for (const [id, count, stored] of blocks) {
      const first = id - count + 1;
      const lines = readLines(stored).map((line, index): [number, LogLine] => [first + index, line]);
      for (const numbered of tail ? lines.reverse() : lines) if (numbered[0] > after) yield numbered;
    }
    const last = blocks.at(-1);
    if (last === undefined || blocks.length < BLOCKS_READ) return;
    if (tail) to = last[0];
    else from = last[0];
  }
}

function renderLine(run: number, id: number, [task, level, logger, timestamp, message]: LogLine): string {
  return (
    `{"id":${id},"run_id":${run},"task_run_id":${task},"level":${level},"logger":${quoted(logger)},` +
    `"message":${quoted(message)},"timestamp":${timestamp}}`
  );
}
