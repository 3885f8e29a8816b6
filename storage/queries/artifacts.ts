/**
 * Artifacts: by id, of a run or task run (in order of id), and the list across runs (newest first).
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), NOT INDEXED (nothing: plans are pinned for a
 * connection), CROSS JOIN (JOIN: it only fixes the order of the joins), json_each (= ANY of an array).
 */
import type { ArtifactsQuery } from "#protocol/records/artifact";
import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type PageArguments, pagePart } from "./answer-part.ts";
import { Conditions } from "./conditions.ts";
import { flowIds } from "./filters.ts";
import { quoted } from "./json.ts";
import { type OwnedArguments, restOf } from "./task-runs-page.ts";

type ArtifactRow = [
  id: number,
  external_id: Uint8Array,
  run_id: number,
  task_run_id: number | null,
  kind: string,
  key: string | null,
  data: string,
  created_at: number,
  updated_at: number,
];
type ListRow = [...ArtifactRow, run_name: string, flow_name: string, project: string];

const COLUMNS = "a.id, a.external_id, a.run_id, a.task_run_id, a.kind, a.key, a.data, a.created_at, a.updated_at";

function fields([id, externalId, run, task, kind, key, data, created, updated]: ArtifactRow): string {
  return (
    `"id":${id},"external_id":"${bytesToUuid(externalId)}","run_id":${run},"task_run_id":${task},"kind":${quoted(kind)},` +
    `"key":${quoted(key)},"data":${data},"created_at":${created},"updated_at":${updated}`
  );
}

function render(row: ArtifactRow): string {
  return `{${fields(row)}}`;
}

function renderListed(row: ListRow): string {
  const [run, flow, project] = row.slice(9) as [string, string, string];
  const own = row.slice(0, 9) as ArtifactRow;
  return `{${fields(own)},"run_name":${quoted(run)},"flow_name":${quoted(flow)},"project":${quoted(project)}}`;
}

/** The artifact as JSON text, or null for an unknown id. */
export function artifactById(statements: Statements, id: number): string | null {
  const row = statements.raw<ArtifactRow>(`SELECT ${COLUMNS} FROM artifacts a WHERE a.id = ?`).get(id);
  return row === undefined ? null : render(row);
}

/** A part of the artifacts of a run, oldest first. */
export function artifactsOfRun(statements: Statements, args: OwnedArguments): AnswerPart<OwnedArguments> {
  return artifactsOf(statements, "a.run_id", args);
}

/** A part of the artifacts of a task run, oldest first. */
export function artifactsOfTaskRun(statements: Statements, args: OwnedArguments): AnswerPart<OwnedArguments> {
  return artifactsOf(statements, "a.task_run_id", args);
}

function artifactsOf(statements: Statements, owner: string, args: OwnedArguments): AnswerPart<OwnedArguments> {
  const { after = 0, limit = -1 } = args.query ?? {};
  const sql = `SELECT ${COLUMNS} FROM artifacts a WHERE ${owner} = ? AND a.id > ? ORDER BY a.id LIMIT ?`;
  const rows = statements.raw<ArtifactRow>(sql).iterate(args.id, after, limit);
  return arrayPart(args, rows, render, ([last], count) => ({ query: restOf(args.query, last, count) }));
}

export interface ArtifactsArguments extends PageArguments {
  query: ArtifactsQuery;
}

/** A part of a page of artifacts across runs. */
export function artifactsPage(statements: Statements, args: ArtifactsArguments): AnswerPart<ArtifactsArguments> {
  const { query } = args;
  return pagePart(args, {
    limit: query.limit,
    rows: findRows(statements, query),
    render: renderListed,
    cursor: ([id]) => id,
    rest: ([after], count) => ({ query: { ...query, after, limit: query.limit - count } }),
  });
}

/** Artifacts of the page, and one more if there are more. */
function findRows(statements: Statements, query: ArtifactsQuery): Iterable<ListRow> {
  const flows = flowIds(statements, query);
  if (flows?.length === 0) return [];
  const where = new Conditions();
  if (query.kind !== undefined) where.add("(a.kind) = (?)", query.kind);
  if (query.key !== undefined) where.add("(a.key) = (?)", query.key);
  if (query.run_id !== undefined) where.add("a.run_id = ?", query.run_id);
  if (query.after !== undefined) where.add("a.id < ?", query.after);
  if (flows !== null) where.add("r.flow_id IN (SELECT value FROM json_each(?))", JSON.stringify(flows));
  const sql = `SELECT ${COLUMNS}, r.name, f.name, f.project FROM artifacts a ${indexFor(query)}
    CROSS JOIN runs r ON r.id = a.run_id CROSS JOIN flows f ON f.id = r.flow_id
    WHERE ${where.sql} ORDER BY a.id DESC LIMIT ?`;
  return statements.raw<ListRow>(sql).iterate(...where.values, query.limit + 1);
}

function indexFor(query: ArtifactsQuery): string {
  if (query.run_id !== undefined) return "INDEXED BY artifacts_run";
  if (query.key !== undefined) return "INDEXED BY artifacts_key";
  return query.kind === undefined ? "NOT INDEXED" : "INDEXED BY artifacts_kind";
}
