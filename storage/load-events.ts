/** Committed events as rules see them: what they match on, and the records that templates speak of. */
import { STRETCH_IDS, stateType } from "./codes.ts";
import { type EventRow, eventContext, eventParts, renderEvent, SELECT_EVENT } from "./queries/event-record.ts";
import { flowById } from "./queries/flow-record.ts";
import { runById } from "./queries/run-record.ts";
import type { Statements } from "./statements.ts";

type SeenRow = [
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

const EXTRA = `, o.tags, o.created_by, o.state_type, o.state_name, g.project, g.name, g.id, coalesce(c.depth, p.depth, 0) FROM events e`;
const JOINS = ` LEFT JOIN runs o ON o.id = e.run_id LEFT JOIN flows g ON g.id = coalesce(o.flow_id, e.flow_id)
  LEFT JOIN chains c ON c.run_id = e.run_id LEFT JOIN chains p ON p.run_id = o.parent_run_id`;
const SELECT_SEEN = `${SELECT_EVENT.replace(" FROM events e", EXTRA)}${JOINS}`;

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
  /** State type and name as they were then, in lower case; as they are now where the event does not say. */
  states: readonly string[];
  /** Who created its run. */
  created_by: string | null;
  /** Rules that led to it. */
  depth: number;
  payload: Readonly<Record<string, unknown>>;
  /** The event's record as JSON text. */
  record(): string;
}

/** The events after `cursor`, oldest first. */
export function eventsAfter(statements: Statements, cursor: number, limit: number): SeenEvent[] {
  const rows = statements.raw<SeenRow>(`${SELECT_SEEN} WHERE e.id > ? ORDER BY e.id LIMIT ?`).all(cursor, limit);
  return rows.map((row) => seen(statements, row));
}

/** The newest events, newest first. */
export function latestEvents(statements: Statements, limit: number): SeenEvent[] {
  const rows = statements.raw<SeenRow>(`${SELECT_SEEN} ORDER BY e.id DESC LIMIT ?`).all(limit);
  return rows.map((row) => seen(statements, row));
}

/** Events of one name, or with the prefix before `*`, that occurred within the bounds, newest first. */
export function eventsBetween(statements: Statements, name: string, fromUs: number, toUs: number, limit: number): SeenEvent[] {
  const first = statements.raw<[number | null]>("SELECT min(stretch) FROM event_times WHERE occurred_max >= ?").get(fromUs)?.[0];
  if (first === null || first === undefined) return [];
  const named = name.endsWith("*") ? "substr(n.name, 1, length(?)) = ?" : "n.name = coalesce(?, ?)";
  const sql = `${SELECT_SEEN} WHERE e.id >= ? AND e.occurred BETWEEN ? AND ? AND ${named} ORDER BY e.id DESC LIMIT ?`;
  const text = name.replace(/\*$/, "");
  const rows = statements.raw<SeenRow>(sql).all(first * STRETCH_IDS, fromUs, toUs, text, text, limit);
  return rows.map((row) => seen(statements, row));
}

/** Id of the newest event; 0 without any. */
export function newestEvent(statements: Statements): number {
  return statements.raw<[number | null]>("SELECT max(id) FROM events").get()?.[0] ?? 0;
}

/** The record of a run or a flow as templates see it, or null. */
export function recordOf(statements: Statements, kind: "run" | "flow", id: number): Record<string, unknown> | null {
  const text = kind === "run" ? runById(statements, id) : flowById(statements, id, { isLive: () => true, nowUs: 0 });
  return text === null ? null : (JSON.parse(text) as Record<string, unknown>);
}

function seen(statements: Statements, row: SeenRow): SeenEvent {
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
    ...{ id, name, occurred, run_id, depth, flow, created_by },
    flow_id: flow_id ?? seenFlowId,
    get payload() {
      return payloadOf();
    },
    get project() {
      return project ?? textOf(payloadOf()["project"]);
    },
    get tags() {
      return tags === null ? [] : (JSON.parse(tags) as string[]);
    },
    get states() {
      if (type !== null) return statesOf(stateType(type), stateName);
      const said = [payloadOf()["state_type"], payloadOf()["state"]].flatMap((state) => textOf(state)?.toLowerCase() ?? []);
      return said.length > 0 || runState === null ? said : statesOf(stateType(runState), runStateName);
    },
    record: () => renderEvent(own, eventContext(statements)),
  };
}

function statesOf(type: string, name: string | null): string[] {
  return [type.toLowerCase(), ...(name === null ? [] : [name.toLowerCase()])];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
