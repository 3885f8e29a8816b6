/**
 * Backfill records (interface: "Backfill"; decisions: BackfillStatus) and their stream messages.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), json_extract (a column that the writer fills).
 */

import { bytesToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { flag, quoted, stored } from "./json.ts";

type BackfillRow = [
  id: number,
  external_id: Uint8Array,
  flow_id: number,
  parameter: string,
  start_value: string,
  end_value: string,
  interval_secs: number,
  concurrency: number,
  total: number,
  extra_parameters: string | null,
  cancelled: number,
  created_at: number,
];

const SELECT_BACKFILL = `SELECT id, external_id, flow_id, parameter, start_value, end_value, interval_secs, concurrency, total,
  extra_parameters, cancelled, created_at FROM backfills`;

/** Runs of a backfill by state name. */
export function countsOfBackfill(statements: Statements, id: number): Map<string, number> {
  const sql = `SELECT state_type, state_name, count(*) FROM runs INDEXED BY runs_backfill
    WHERE backfill_id = ? GROUP BY state_type, state_name ORDER BY state_type, state_name NULLS FIRST`;
  // A Map, because state names are arbitrary and may equal an inherited property of an object.
  const counts = new Map<string, number>();
  for (const [type, name, count] of statements.raw<[number, string | null, number]>(sql).all(id)) {
    const key = name ?? stateType(type);
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  return counts;
}

function render(statements: Statements, row: BackfillRow): string {
  const [id, externalId, flow, parameter, start, end, interval, concurrency, total, extra, cancelled, created] = row;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","flow_id":${flow},"parameter":${quoted(parameter)},` +
    `"start_value":${quoted(start)},"end_value":${quoted(end)},"interval_secs":${interval},"concurrency":${concurrency},` +
    `"total":${total},"extra_parameters":${stored(extra, "{}")},"cancelled":${flag(cancelled)},"created_at":${created},` +
    `"counts":${JSON.stringify(Object.fromEntries(countsOfBackfill(statements, id)))},"tag":"backfill:${id}"}`
  );
}

/** The status of a backfill as JSON text, or null for an unknown id. */
export function backfillById(statements: Statements, id: number): string | null {
  const row = statements.raw<BackfillRow>(`${SELECT_BACKFILL} WHERE id = ?`).get(id);
  return row === undefined ? null : render(statements, row);
}

export interface FlowBackfillsArguments extends Continued {
  id: number;
  after?: number;
}

/** A part of the backfills of a flow, oldest first; empty for an unknown flow. */
export function backfillsOfFlow(statements: Statements, args: FlowBackfillsArguments): AnswerPart<FlowBackfillsArguments> {
  const rows = statements.raw<BackfillRow>(`${SELECT_BACKFILL} WHERE flow_id = ? AND id > ? ORDER BY id`);
  return arrayPart(
    args,
    rows.iterate(args.id, args.after ?? 0),
    (row) => render(statements, row),
    ([after]) => ({ after }),
  );
}

export interface BackfillsArguments extends Continued {
  limit: number;
  before?: number;
}

/** A part of the newest backfills of all flows, newest first. */
export function newestBackfills(statements: Statements, args: BackfillsArguments): AnswerPart<BackfillsArguments> {
  const { limit, before = Number.MAX_SAFE_INTEGER } = args;
  const rows = statements.raw<BackfillRow>(`${SELECT_BACKFILL} WHERE id < ? ORDER BY id DESC LIMIT ?`).iterate(before, limit);
  return arrayPart(
    args,
    rows,
    (row) => render(statements, row),
    ([last], count) => ({ before: last, limit: limit - count }),
  );
}

/** A part of the values of a backfill with their runs, in the order of their creation; null for an unknown backfill. */
export function valuesOfBackfill(
  statements: Statements,
  args: FlowBackfillsArguments,
): AnswerPart<FlowBackfillsArguments> | null {
  const { id, after = 0 } = args;
  const found = statements.raw<[string]>("SELECT parameter FROM backfills WHERE id = ?").get(id);
  if (found === undefined) return null;
  const sql = `SELECT id, state_type, state_name, json_extract(parameters, ?) FROM runs INDEXED BY runs_backfill
    WHERE backfill_id = ? AND id > ? ORDER BY id`;
  const path = `$.${JSON.stringify(found[0])}`;
  const rows = statements.raw<[number, number, string | null, string | null]>(sql).iterate(path, id, after);
  const renderValue = ([run, type, name, value]: [number, number, string | null, string | null]): string => {
    const typeName = stateType(type);
    return `[${quoted(value)},${run},"${typeName}",${quoted(name ?? typeName)}]`;
  };
  return arrayPart(args, rows, renderValue, ([last]) => ({ after: last }));
}

/** Data of the stream message backfill.created. */
export function backfillCreated(statements: Statements, id: number): string | null {
  const row = statements.raw<[number, number]>("SELECT flow_id, total FROM backfills WHERE id = ?").get(id);
  return row === undefined ? null : JSON.stringify({ backfill_id: id, flow_id: row[0], count: row[1] });
}

/** Data of the stream message backfill.updated. */
export function backfillUpdated(statements: Statements, id: number): string | null {
  const row = statements.raw<[number]>("SELECT cancelled FROM backfills WHERE id = ?").get(id);
  return row === undefined ? null : JSON.stringify({ backfill_id: id, cancelled: row[0] === 1 });
}
