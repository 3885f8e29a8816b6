/**
 * Committed events with the fields that rules match on.
 *
 * SQLite only: json_each (= ANY of an array), min or max of values (least, greatest).
 */

import { type EventRow, eventContext, eventParts, renderEvent, SELECT_EVENT } from "../queries/event-record.ts";
import { STRETCH_IDS, stateType } from "../schema/codes.ts";
import { NAMES_KEPT_MAX } from "../schema/names.ts";
import type { Statements } from "../sqlite/statements.ts";
import { readRunState } from "../write/ops.ts";

export type SeenRow = [
  ...EventRow,
  run_tags: string | null,
  created_by: string | null,
  run_state: number | null,
  run_state_name: string | null,
  seen_project: string | null,
  seen_flow: string | null,
  seen_flow_id: number | null,
  depth: number,
];

const EVENT_COLUMNS = 22;

const EXTRA = `, o.tags, o.created_by, o.state_type, o.state_name, g.project, g.name, g.id, max(coalesce(c.depth, 0), coalesce(ec.depth, 0)) FROM events e`;
const JOINS = ` LEFT JOIN runs o ON o.id = e.run_id LEFT JOIN flows g ON g.id = coalesce(o.flow_id, e.flow_id)
  LEFT JOIN chains c ON c.run_id = e.run_id LEFT JOIN event_chains ec ON ec.event_id = e.id`;
export const SELECT_SEEN = `${SELECT_EVENT.replace(" FROM events e", EXTRA)}${JOINS}`;

/** An event in the terms of a rule's match. */
export interface SeenEvent {
  id: number;
  name: string;
  occurred: number;
  run_id: number | null;
  flow_id: number | null;
  flow: string | null;
  project: string | null;
  tags: readonly string[];
  /**
   * State type and name of the event's run at that time, in lower case. Without a run, the state that the payload names; for
   * events stored without a state, the current state of the run.
   */
  states: readonly string[];
  /** Creator of the event's run. */
  created_by: string | null;
  /** Length of the chain of rules that led to the event. */
  depth: number;
  payload: Readonly<Record<string, unknown>>;
  /** The event's record as JSON text. */
  record(): string;
}

/** The events after `cursor` with the requested names, oldest first; `to` is the last id that was scanned. */
export function eventsAfter(
  statements: Statements,
  cursor: number,
  limit: number,
  isAskedFor: (name: string) => boolean,
): { events: SeenEvent[]; to: number } {
  const scanned = statements
    .raw<[number, number]>("SELECT id, name FROM events WHERE id > ? ORDER BY id LIMIT ?")
    .all(cursor, SCAN_EVENTS);
  const ids: number[] = [];
  let to = cursor;
  for (const [id, code] of scanned) {
    if (isAskedFor(nameOf(statements, code))) {
      if (ids.length === limit) break;
      ids.push(id);
    }
    to = id;
  }
  if (ids.length === 0) return { events: [], to };
  const sql = `${SELECT_SEEN} WHERE e.id IN (SELECT value FROM json_each(?)) ORDER BY e.id`;
  const events: SeenEvent[] = [];
  let length = 0;
  for (const row of statements.raw<SeenRow>(sql).iterate(JSON.stringify(ids))) {
    if (length >= EVENTS_LENGTH_MAX) return { events, to: row[0] - 1 };
    events.push(seen(statements, row));
    for (const value of row) if (typeof value === "string") length += value.length;
  }
  return { events, to };
}

/** Maximum length of the events returned together; a single event may be longer. */
const EVENTS_LENGTH_MAX = 4 * 1024 * 1024;

/** Ids and names scanned per step to find the requested events: reading such a row costs a twentieth of reading the event. */
const SCAN_EVENTS = 1_000;

/** Names by code; the meaning of a code never changes. At most NAMES_KEPT_MAX for each handle. */
const names = new WeakMap<Statements, Map<number, string>>();

function nameOf(statements: Statements, code: number): string {
  const known = names.get(statements) ?? new Map<number, string>();
  names.set(statements, known);
  if (known.size >= NAMES_KEPT_MAX) known.clear();
  const name = known.get(code) ?? statements.raw<[string]>("SELECT name FROM names WHERE id = ?").get(code)?.[0] ?? "";
  known.set(code, name);
  return name;
}

/** The newest events, newest first. */
export function* latestEvents(statements: Statements, limit: number): Generator<SeenEvent> {
  const rows = statements.raw<SeenRow>(`${SELECT_SEEN} ORDER BY e.id DESC LIMIT ?`).iterate(limit);
  for (const row of rows) yield seen(statements, row);
}

/** The event with this id, or null if it was deleted. */
export function seenEvent(statements: Statements, id: number): SeenEvent | null {
  const row = statements.raw<SeenRow>(`${SELECT_SEEN} WHERE e.id = ?`).get(id);
  return row === undefined ? null : seen(statements, row);
}

/** Events with this name, or with the prefix before `*`, that occurred within the bounds, newest first. */
export function* eventsBetween(statements: Statements, name: string, fromUs: number, toUs: number): Generator<SeenEvent> {
  const stretches = statements
    .raw<[number]>("SELECT stretch FROM event_times WHERE occurred_max >= ? AND occurred_min <= ? ORDER BY stretch DESC")
    .all(fromUs, toUs);
  const named = name.endsWith("*") ? "substr(n.name, 1, length(?)) = ?" : "n.name = coalesce(?, ?)";
  const sql = `${SELECT_SEEN} WHERE e.id BETWEEN ? AND ? AND e.occurred BETWEEN ? AND ? AND ${named} ORDER BY e.id DESC`;
  const text = name.replace(/\*$/, "");
  for (const [stretch] of stretches) {
    const first = stretch * STRETCH_IDS;
    const rows = statements.raw<SeenRow>(sql).iterate(first, first + STRETCH_IDS - 1, fromUs, toUs, text, text);
    for (const row of rows) yield seen(statements, row);
  }
}

/** An event from a row of SELECT_SEEN. */
export function seen(statements: Statements, row: SeenRow): SeenEvent {
  const own = row.slice(0, EVENT_COLUMNS) as EventRow;
  const [id, name, occurred, run_id, flow_id, , type, stateName] = own;
  const [tags, created_by, runState, runStateName, project, flow, seenFlowId, depth] = row.slice(EVENT_COLUMNS) as unknown as [
    ...[string | null, string | null, number | null, string | null, string | null, string | null, number | null, number],
  ];
  let payload: Readonly<Record<string, unknown>> | null = null;
  const payloadOf = (): Readonly<Record<string, unknown>> => {
    payload ??= JSON.parse(eventParts(own).payload) as Record<string, unknown>;
    return payload;
  };
  return {
    ...{ id, name, occurred, run_id, depth, flow },
    // When the run is deleted, use the fields kept in the event.
    get created_by() {
      return created_by ?? (run_id === null ? null : textOf(payloadOf()["created_by"]));
    },
    flow_id: flow_id ?? seenFlowId,
    get payload() {
      return payloadOf();
    },
    get project() {
      return project ?? textOf(payloadOf()["project"]);
    },
    get tags() {
      if (tags !== null) return JSON.parse(tags) as string[];
      return created_by !== null || run_id === null ? [] : tagsOf(eventParts(own).related);
    },
    get states() {
      if (type !== null) return statesOf(stateType(type), stateName);
      if (stateName !== null) return readRunState(stateName).map((state) => state.toLowerCase());
      const said = [payloadOf()["state_type"], payloadOf()["state"]].flatMap((state) => textOf(state)?.toLowerCase() ?? []);
      return said.length > 0 || runState === null ? said : statesOf(stateType(runState), runStateName);
    },
    record: () => renderEvent(own, eventContext(statements)),
  };
}

function tagsOf(related: string): string[] {
  const resources = JSON.parse(related) as { kind: string; id: string }[];
  return resources.filter(({ kind }) => kind === "tag").map(({ id }) => id);
}

function statesOf(type: string, name: string | null): string[] {
  return [type.toLowerCase(), ...(name === null ? [] : [name.toLowerCase()])];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
