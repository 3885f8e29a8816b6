/**
 * Log lines across runs, newest first. A page examines a bounded amount of log; `next_cursor` continues a page that found
 * fewer lines than requested. There is no index of words: an index would cost every line that is written, and few are
 * searched.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), NOT INDEXED (nothing: plans are pinned for a
 * connection), CROSS JOIN (JOIN: it only fixes the order of the joins).
 */
import { ANSWER_PART_BYTES_MAX, SEARCHED_LOG_BLOCKS_MAX, SEARCHED_LOG_BYTES_MAX } from "#protocol/limits";
import type { LogSearchQuery } from "#protocol/records/log";
import { type LogLine, linesText, parseLines } from "../schema/log-blocks.ts";
import type { Statements } from "../sqlite/statements.ts";
import { Conditions } from "./conditions.ts";
import { quoted } from "./json.ts";
import { levelsFrom, renderLineFields } from "./logs-page.ts";

/** A block that the filters by level, flow and project exclude has no `lines`. */
type BlockRow = [
  id: number,
  count: number,
  run: number,
  lines: string | Uint8Array | null,
  runName: string,
  flowName: string,
  project: string,
];

export interface LogSearchArguments {
  query: LogSearchQuery;
}

/** What a page has examined and found. */
interface Found {
  items: string[];
  length: number;
  /** Lines in the examined part of the log. */
  searched: number;
  /** Id of the oldest line examined, where more lines may follow. */
  next: number | null;
}

/** Text whose spelling in JSON is the text itself, so that a block without it can be passed over unparsed. */
const PLAIN = /^[ !#-.0-[\]-~]+$/;
/** An escape of JSON may stand for any character. */
const ESCAPE = "\\u";

export function logSearch(statements: Statements, { query }: LogSearchArguments): string {
  const found = search(statements, query);
  const { items, searched, next } = found;
  const until = next === null ? null : timeOf(statements, next);
  return `{"items":[${items.join(",")}],"next_cursor":${next},"lines_searched":${searched},"searched_until":${until}}`;
}

function search(statements: Statements, query: LogSearchQuery): Found {
  const found: Found = { items: [], length: 0, searched: 0, next: null };
  const { after = Number.MAX_SAFE_INTEGER, level = 0 } = query;
  const text = query.q?.toLowerCase() ?? "";
  const mayHold = blockTest(text);
  let bytes = 0;
  let blocks = 0;
  for (const block of blocksBefore(statements, query, after)) {
    const [id, count, , stored] = block;
    const first = id - count + 1;
    const older = Math.max(0, Math.min(count, after - first));
    if (bytes >= SEARCHED_LOG_BYTES_MAX || blocks >= SEARCHED_LOG_BLOCKS_MAX) {
      found.next = id + 1;
      break;
    }
    blocks += 1;
    const json = stored === null ? "" : linesText(stored);
    bytes += json.length;
    const lines = json !== "" && mayHold(json) ? parseLines(json) : [];
    for (let index = Math.min(lines.length, older) - 1; index >= 0; index--) {
      const line = lines[index];
      if (line === undefined || line[1] < level || !line[4].toLowerCase().includes(text)) continue;
      const item = renderFound(block, first + index, line);
      found.items.push(item);
      found.length += item.length;
      if (found.items.length < query.limit && found.length < ANSWER_PART_BYTES_MAX) continue;
      found.searched += older - index;
      found.next = first + index;
      return found;
    }
    found.searched += older;
  }
  return found;
}

/** False for blocks that certainly hold no line with the text. */
function blockTest(text: string): (json: string) => boolean {
  if (!PLAIN.test(text)) return () => true;
  return (json) => json.toLowerCase().includes(text) || json.includes(ESCAPE);
}

/** Blocks with lines before `after`, newest first. */
function blocksBefore(statements: Statements, query: LogSearchQuery, after: number): Iterable<BlockRow> {
  const { run_id, flow_id, project, level = 0 } = query;
  const wanted = new Conditions().add("b.level_mask & ? != 0", levelsFrom(level));
  if (flow_id !== undefined) wanted.add("r.flow_id = ?", flow_id);
  if (project !== undefined) wanted.add("f.project = ?", project);
  const where = new Conditions();
  if (run_id !== undefined) where.add("b.run_id = ?", run_id);
  where.add("b.id <= ?", lastBlock(statements, after));
  const index = run_id === undefined ? "NOT INDEXED" : "INDEXED BY log_blocks_run";
  const sql = `SELECT b.id, b.count, b.run_id,
      CASE WHEN ${wanted.sql} THEN b.lines END, r.name, f.name, f.project
    FROM log_blocks b ${index} CROSS JOIN runs r ON r.id = b.run_id CROSS JOIN flows f ON f.id = r.flow_id
    WHERE ${where.sql} ORDER BY b.id DESC`;
  return statements.raw<BlockRow>(sql).iterate(...wanted.values, ...where.values);
}

/** Id of the block that holds the line before `after`. */
function lastBlock(statements: Statements, after: number): number {
  const row = statements.raw<[number]>("SELECT id FROM log_blocks WHERE id >= ? ORDER BY id LIMIT 1").get(after - 1);
  return row?.[0] ?? after - 1;
}

function timeOf(statements: Statements, line: number): number | null {
  const sql = "SELECT id, count, lines FROM log_blocks WHERE id >= ? ORDER BY id LIMIT 1";
  const row = statements.raw<[number, number, string | Uint8Array]>(sql).get(line);
  if (row === undefined) return null;
  const [id, count, stored] = row;
  return parseLines(linesText(stored))[Math.max(0, line - (id - count + 1))]?.[3] ?? null;
}

function renderFound([, , run, , runName, flowName, project]: BlockRow, id: number, line: LogLine): string {
  const names = `"run_name":${quoted(runName)},"flow_name":${quoted(flowName)},"project":${quoted(project)}`;
  return `{${renderLineFields(run, id, line)},${names}}`;
}
