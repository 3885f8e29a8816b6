/** Backfill records (interface: "Backfill"; decisions: BackfillStatus) and their stream messages. */

import { bytesToUuid } from "#protocol/uuid";
import { stateType } from "../codes.ts";
import type { Statements } from "../statements.ts";
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

/** Runs of a backfill by name of their state. */
export function countsOfBackfill(statements: Statements, id: number): Map<string, number> {
  const sql = `SELECT state_type, state_name, count(*) FROM runs INDEXED BY runs_backfill
    WHERE backfill_id = ? GROUP BY state_type, state_name`;
  // No plain object: names of states are free, and that of an inherited property is one.
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

/** The status of a backfill as JSON text, or null when there is none. */
export function backfillById(statements: Statements, id: number): string | null {
  const row = statements.raw<BackfillRow>(`${SELECT_BACKFILL} WHERE id = ?`).get(id);
  return row === undefined ? null : render(statements, row);
}

/** Backfills of a flow, oldest first, as a JSON array; empty for an unknown flow. */
export function backfillsOfFlow(statements: Statements, flow: number): string {
  const rows = statements.raw<BackfillRow>(`${SELECT_BACKFILL} WHERE flow_id = ? ORDER BY id`).all(flow);
  return `[${rows.map((row) => render(statements, row)).join(",")}]`;
}

/** The newest backfills of all flows, newest first, as a JSON array. */
export function newestBackfills(statements: Statements, limit: number): string {
  const rows = statements.raw<BackfillRow>(`${SELECT_BACKFILL} ORDER BY id DESC LIMIT ?`).all(limit);
  return `[${rows.map((row) => render(statements, row)).join(",")}]`;
}

/** The values of a backfill with their runs, in the order of their creation, as a JSON array; null when there is none. */
export function valuesOfBackfill(statements: Statements, id: number): string | null {
  const found = statements.raw<[string]>("SELECT parameter FROM backfills WHERE id = ?").get(id);
  if (found === undefined) return null;
  const sql = `SELECT id, state_type, state_name, json_extract(parameters, ?) FROM runs INDEXED BY runs_backfill
    WHERE backfill_id = ? ORDER BY id`;
  const path = `$.${JSON.stringify(found[0])}`;
  const rows = statements.raw<[number, number, string | null, string | null]>(sql).all(path, id);
  const values = rows.map(([run, type, name, value]) => {
    const typeName = stateType(type);
    return `[${quoted(value)},${run},"${typeName}",${quoted(name ?? typeName)}]`;
  });
  return `[${values.join(",")}]`;
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
