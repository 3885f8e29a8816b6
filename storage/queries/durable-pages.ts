/**
 * Steps and waits of a run: those of its lineage, and what the lineage sees of those that it was forked from. A fork sees the
 * steps of task runs, and the settled waits, that are older than the task run from which it goes on.
 */
import { STEP_LISTED_BYTES_MAX } from "#protocol/limits";
import { bytesToUuid } from "#protocol/values/uuid";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, type PageArguments, pagePart } from "./answer-part.ts";
import { quoted } from "./json.ts";
import { lineagesSeen, type SeenLineage } from "./lineages-seen.ts";

export interface DurablePageArguments extends PageArguments {
  id: number;
  query: { after?: number; limit: number };
}

/** The lineage of a run and those it was forked from, the run's own first; none for a run without a lineage. */
function seenBy(statements: Statements, run: number): SeenLineage[] {
  const [own] = statements.raw<[number | null]>("SELECT lineage_id FROM runs WHERE id = ?").get(run) ?? [];
  return own == null ? [] : lineagesSeen(statements, own);
}

/** The rows of a table that a run sees, by id. */
function rowsSeen(seen: readonly SeenLineage[], bound: (from: SeenLineage) => [sql: string, ...values: number[]]) {
  const values: SqlValue[] = [];
  const parts = seen.map((from, index) => {
    const [sql, ...bounds] = index === 0 ? ["TRUE"] : bound(from);
    values.push(from.lineage, ...(bounds as number[]));
    return `(lineage_id = ? AND ${sql})`;
  });
  return { where: parts.length === 0 ? "FALSE" : `(${parts.join(" OR ")})`, values };
}

const STEP_COLUMNS = `s.id, s.identity, s.place, s.name, s.run_id,
  (SELECT t.external_id FROM task_runs t WHERE t.id = s.task_run_id), s.created_at, s.bytes, s.file`;
type StepRow = [
  id: number,
  identity: Uint8Array,
  place: Uint8Array,
  name: string,
  run_id: number,
  task: Uint8Array | null,
  created_at: number,
  bytes: number,
  file: Uint8Array | null,
  value: string | null,
];

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function renderStep([id, identity, place, name, run, task, created, bytes, file, value]: StepRow): string {
  return (
    `{"id":${id},"identity":"${hex(identity)}","place":"${hex(place)}","name":${quoted(name)},"run_id":${run},` +
    `"task_run_external_id":${task === null ? null : `"${bytesToUuid(task)}"`},"created_at":${created},"bytes":${bytes},` +
    `"value":${quoted(value)},"file":${file === null ? null : `{"sha256":"${hex(file)}","bytes":${bytes}}`}}`
  );
}

const boundOfSteps = ({ task }: SeenLineage): [string, number] => ["coalesce(task_run_id, 0) < ?", task];

/** A part of a page of the steps that a run sees, oldest first. Large results are left out. */
export function stepsPage(statements: Statements, args: DurablePageArguments): AnswerPart<DurablePageArguments> {
  const { where, values } = rowsSeen(seenBy(statements, args.id), boundOfSteps);
  const value = `CASE WHEN s.bytes <= ${STEP_LISTED_BYTES_MAX} THEN s.value END`;
  const sql = `SELECT ${STEP_COLUMNS}, ${value} FROM steps s WHERE ${where} AND s.id > ? ORDER BY s.id LIMIT ?`;
  return page(args, statements.raw<StepRow>(sql).iterate(...values, args.query.after ?? 0, args.query.limit + 1), renderStep);
}

/** A step that a run sees, with its result, as JSON text; null for an unknown one. */
export function stepByIdentity(statements: Statements, run: number, identity: string): string | null {
  const { where, values } = rowsSeen(seenBy(statements, run), boundOfSteps);
  // The run's own result comes after that of its origin.
  const sql = `SELECT ${STEP_COLUMNS}, s.value FROM steps s WHERE ${where} AND s.identity = ? ORDER BY s.id DESC LIMIT 1`;
  const row = statements.raw<StepRow>(sql).get(...values, Buffer.from(identity, "hex"));
  return row === undefined || hex(row[1]) !== identity ? null : renderStep(row);
}

const WAIT_COLUMNS = `id, identity, place, kind, name, created_at, due, spec,
  (SELECT max(r.id) FROM runs r WHERE r.lineage_id = child_lineage_id), settled_at, outcome`;
type WaitRow = [
  id: number,
  identity: Uint8Array,
  place: Uint8Array,
  kind: string,
  name: string,
  created_at: number,
  due: number | null,
  spec: string | null,
  child: number | null,
  settled_at: number | null,
  outcome: string | null,
];

function renderWait([id, identity, place, kind, name, created, due, spec, child, settled, outcome]: WaitRow): string {
  const { event = null, where = null } = JSON.parse(spec ?? "{}") as { event?: string; where?: unknown };
  return (
    `{"id":${id},"identity":"${hex(identity)}","place":"${hex(place)}","kind":${quoted(kind)},"name":${quoted(name)},` +
    `"created_at":${created},"due":${due},"event":${quoted(event)},"where":${JSON.stringify(where)},"child_run_id":${child},` +
    `"url":null,"settled_at":${settled},"outcome":${outcome}}`
  );
}

/** A part of a page of the waits that a run sees, oldest first; of its origin only those that have an outcome. */
export function waitsPage(statements: Statements, args: DurablePageArguments): AnswerPart<DurablePageArguments> {
  const bound = ({ time }: SeenLineage): [string, number] => ["outcome IS NOT NULL AND created_at < ?", time];
  const { where, values } = rowsSeen(seenBy(statements, args.id), bound);
  const sql = `SELECT ${WAIT_COLUMNS} FROM waits WHERE ${where} AND id > ? ORDER BY id LIMIT ?`;
  return page(args, statements.raw<WaitRow>(sql).iterate(...values, args.query.after ?? 0, args.query.limit + 1), renderWait);
}

/** Whether the wait of a callback is open; `tokenHash` in hexadecimal. */
export function isCallbackOpen(statements: Statements, tokenHash: string): boolean {
  const sql = "SELECT 1 FROM waits WHERE token_hash = ? AND settled_at IS NULL";
  return statements.raw(sql).get(Buffer.from(tokenHash, "hex")) !== undefined;
}

function page<Row extends readonly [number, ...unknown[]]>(
  args: DurablePageArguments,
  rows: Iterable<Row>,
  render: (row: Row) => string,
): AnswerPart<DurablePageArguments> {
  const { query } = args;
  return pagePart(args, {
    limit: query.limit,
    rows,
    render,
    cursor: ([id]) => id,
    rest: ([after], count) => ({ query: { ...query, after, limit: query.limit - count } }),
  });
}
