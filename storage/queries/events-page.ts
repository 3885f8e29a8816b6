/**
 * GET /api/events. Filters combine; `after` and `before` bound `occurred`, both inclusive.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), NOT INDEXED (nothing: plans are pinned for a
 * connection), CROSS JOIN (JOIN: it only fixes the order of the joins), json_each (= ANY of an array), json_extract (a column
 * that the writer fills).
 */
import type { EventsQuery } from "#protocol/records/event";
import { isUuid, uuidToBytes } from "#protocol/values/uuid";
import { STRETCH_IDS, STRETCH_KIND } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, type PageArguments, pagePart } from "./answer-part.ts";
import { Conditions } from "./conditions.ts";
import { type EventContext, type EventRow, renderEvent, SELECT_EVENT } from "./event-record.ts";
import { matchingStretches, type StretchFilter } from "./stretch-walk.ts";

/** The rows that match: conditions on `e`, filters of the coarse index, and the exact index to use, if any. */
interface EventSelection {
  conditions: Conditions;
  stretches: StretchFilter[];
  /** FROM clause of the events. */
  from: string;
}

export interface EventsArguments extends PageArguments {
  query: EventsQuery;
}

/** A part of a page of events. */
export function eventsPage(statements: Statements, args: EventsArguments, context: EventContext): AnswerPart<EventsArguments> {
  const { query } = args;
  return pagePart(args, {
    limit: query.limit,
    rows: eventRows(statements, query, query.limit + 1),
    render: (row) => renderEvent(row, context),
    cursor: ([id]) => id,
    rest: ([cursor], count) => ({ query: { ...query, cursor, limit: query.limit - count } }),
  });
}

/** At most `limit` matching rows, in the order of the query. */
function eventRows(statements: Statements, query: EventsQuery, limit: number): Iterable<EventRow> {
  const selection = selectEvents(statements, query);
  if (selection === null) return [];
  const { conditions, stretches, from } = selection;
  const descending = !query.ascending;
  if (query.cursor !== undefined) conditions.add(`e.id ${descending ? "<" : ">"} ?`, query.cursor);
  if (from !== "events e" || stretches.length === 0) {
    const range = from === "events e" ? timeRange(statements, query) : null;
    if (range !== null) conditions.add("e.id BETWEEN ? AND ?", ...range);
    return select(statements, from, conditions, descending, limit);
  }
  return rowsOfStretches(statements, query, selection, limit);
}

/** Rows of the stretches of ids in which the filters have matches. */
function* rowsOfStretches(
  statements: Statements,
  query: EventsQuery,
  { conditions, stretches }: EventSelection,
  limit: number,
): Generator<EventRow> {
  const descending = !query.ascending;
  let left = limit;
  for (const [first, last] of matchingStretches(statements, stretches, query.cursor ?? null, descending)) {
    if (!timesOverlap(statements, query, first)) continue;
    const within = conditions.copy().add("e.id BETWEEN ? AND ?", first, last);
    for (const row of select(statements, "events e NOT INDEXED", within, descending, left)) {
      left -= 1;
      yield row;
    }
    if (left <= 0) return;
  }
}

function select(
  statements: Statements,
  from: string,
  conditions: Conditions,
  descending: boolean,
  limit: number,
): Iterable<EventRow> {
  const base = SELECT_EVENT.replace("FROM events e JOIN", `FROM ${from} CROSS JOIN`);
  const sql = `${base} WHERE ${conditions.sql} ORDER BY e.id ${descending ? "DESC" : "ASC"} LIMIT ?`;
  return statements.raw<EventRow>(sql).iterate(...conditions.values, limit);
}

function selectEvents(statements: Statements, query: EventsQuery): EventSelection | null {
  const selection: EventSelection = { conditions: new Conditions(), stretches: [], from: "events e" };
  const { conditions, stretches } = selection;
  if (query.after !== undefined) conditions.add("e.occurred >= ?", query.after);
  if (query.before !== undefined) conditions.add("e.occurred <= ?", query.before);
  if (query.name !== undefined) {
    const codes = nameCodes(statements, query.name);
    if (codes.length === 0) return null;
    conditions.add("e.name IN (SELECT value FROM json_each(?))", JSON.stringify(codes));
    stretches.push({ kind: STRETCH_KIND.event_name, values: codes });
  }
  if (query.flow_id !== undefined) {
    conditions.add("e.flow_id = ?", query.flow_id);
    stretches.push({ kind: STRETCH_KIND.event_flow, values: [query.flow_id] });
  }
  if (query.run_id !== undefined) {
    conditions.add("e.run_id = ?", query.run_id);
    selection.from = "events e INDEXED BY events_run";
  }
  if (query.resource_kind !== undefined && !addResourceKind(statements, selection, query.resource_kind)) return null;
  if (query.resource_id !== undefined) addResourceId(statements, selection, query.resource_id);
  return selection;
}

/** Codes of the names that match the filter: one name, or all names with the prefix before `*`. */
function nameCodes(statements: Statements, name: string): number[] {
  const prefix = name.slice(0, -1);
  const rows = name.endsWith("*")
    ? statements.raw<[number]>("SELECT id FROM names WHERE substr(name, 1, length(?)) = ?").all(prefix, prefix)
    : statements.raw<[number]>("SELECT id FROM names WHERE (name) = (?)").all(name);
  return rows.map(([id]) => id);
}

function addResourceKind(statements: Statements, { conditions, stretches }: EventSelection, kind: string): boolean {
  const row = statements.raw<[number]>("SELECT id FROM names WHERE (name) = (?)").get(kind);
  if (row === undefined) return false;
  stretches.push({ kind: STRETCH_KIND.event_resource, values: [row[0]] });
  const stored = "json_extract(e.resource, '$.kind') = ?";
  const derived = "(e.task_run_id IS NULL OR e.state_type IS NULL)";
  if (kind === "run") conditions.add(`(${stored} OR (e.resource IS NULL AND ${derived}))`, kind);
  else if (kind === "task_run") conditions.add(`(${stored} OR (e.resource IS NULL AND NOT ${derived}))`, kind);
  else conditions.add(stored, kind);
  return true;
}

/** Runs and task runs are filtered by external id, which events do not store, so look up their rows. */
function addResourceId(statements: Statements, selection: EventSelection, id: string): void {
  const { conditions } = selection;
  const stored = "(e.resource IS NOT NULL AND (json_extract(e.resource, '$.id')) = (?))";
  const owner = isUuid(id) ? ownerOf(statements, uuidToBytes(id)) : null;
  if (owner === null) {
    conditions.add(stored, id);
    if (selection.from === "events e") selection.from = "events e INDEXED BY events_resource";
    return;
  }
  conditions.add("e.run_id = ?", owner.run);
  selection.from = "events e INDEXED BY events_run";
  if (owner.task === null)
    conditions.add(`(${stored} OR (e.resource IS NULL AND (e.task_run_id IS NULL OR e.state_type IS NULL)))`, id);
  else conditions.add(`(${stored} OR (e.resource IS NULL AND e.task_run_id = ? AND e.state_type IS NOT NULL))`, id, owner.task);
}

/** The run, or the task run and its run, with this external id. */
function ownerOf(statements: Statements, bytes: Uint8Array): { run: number; task: number | null } | null {
  const run = statements.raw<[number]>("SELECT id FROM runs WHERE external_id = ?").get(bytes);
  if (run !== undefined) return { run: run[0], task: null };
  const task = statements.raw<[number, number]>("SELECT id, run_id FROM task_runs WHERE external_id = ?").get(bytes);
  return task === undefined ? null : { run: task[1], task: task[0] };
}

/** The range of ids that contains every event within the time bounds; null without bounds. */
function timeRange(statements: Statements, query: EventsQuery): [number, number] | null {
  if (query.after === undefined && query.before === undefined) return null;
  const sql = `SELECT min(stretch), max(stretch) FROM event_times WHERE occurred_max >= ? AND occurred_min <= ?`;
  const bounds = [query.after ?? Number.MIN_SAFE_INTEGER, query.before ?? Number.MAX_SAFE_INTEGER];
  const [first, last] = statements.raw<[number | null, number | null]>(sql).get(...bounds) ?? [null, null];
  if (first === null || last === null) return [0, -1];
  return [first * STRETCH_IDS, last * STRETCH_IDS + STRETCH_IDS - 1];
}

function timesOverlap(statements: Statements, query: EventsQuery, firstId: number): boolean {
  if (query.after === undefined && query.before === undefined) return true;
  const sql = "SELECT occurred_min, occurred_max FROM event_times WHERE stretch = ?";
  const times = statements.raw<[number, number]>(sql).get(firstId / STRETCH_IDS);
  if (times === undefined) return true;
  return times[1] >= (query.after ?? times[1]) && times[0] <= (query.before ?? times[0]);
}
