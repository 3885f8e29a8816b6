/**
 * Event records (interface: "Event"): all reads of events use this code.
 *
 * An event of a run or task run stores only what happened; resource, related and the common payload are read from the run,
 * its flow and the task run. Before those rows are deleted, these parts are written into the event.
 */

import { bytesToUuid } from "#protocol/values/uuid";
import { stateType } from "../schema/codes.ts";
import { eventUuid } from "../schema/external-id.ts";
import type { Statements } from "../sqlite/statements.ts";
import { quoted, stored } from "./json.ts";

export type EventRow = [
  id: number,
  name: string,
  occurred: number,
  run_id: number | null,
  flow_id: number | null,
  task_run_id: number | null,
  state_type: number | null,
  state_name: string | null,
  state_message: string | null,
  resource: string | null,
  related: string | null,
  payload: string | null,
  run_external_id: Uint8Array | null,
  run_name: string | null,
  run_tags: string | null,
  run_parameters: string | null,
  run_created_by: string | null,
  project: string | null,
  flow_name: string | null,
  task_external_id: Uint8Array | null,
  task_name: string | null,
  dynamic_key: string | null,
];

/** Facts about the store that every event's record needs. */
export interface EventContext {
  salt: number;
}

export const SELECT_EVENT = `SELECT e.id, n.name, e.occurred, e.run_id, e.flow_id, e.task_run_id, e.state_type, e.state_name,
  e.state_message, e.resource, e.related, e.payload, r.external_id, r.name, r.tags, r.parameters, r.created_by,
  f.project, f.name, t.external_id, t.name, t.dynamic_key
  FROM events e JOIN names n ON n.id = e.name
  LEFT JOIN runs r ON r.id = e.run_id AND e.resource IS NULL
  LEFT JOIN flows f ON f.id = r.flow_id
  LEFT JOIN task_runs t ON t.id = e.task_run_id AND e.resource IS NULL`;

export interface EventParts {
  /** JSON texts. */
  resource: string;
  related: string;
  payload: string;
}

/** Resource, related and payload of an event, each as JSON text. */
export function eventParts(row: EventRow): EventParts {
  const [, , , , , taskRunId, type, , , resource, related, payload] = row;
  if (resource !== null) return { resource, related: stored(related, "[]"), payload: stored(payload, "{}") };
  if (type === null) return customParts(row);
  return taskRunId === null ? runParts(row) : taskParts(row);
}

export function renderEvent(row: EventRow, context: EventContext): string {
  const [id, name, occurred, runId, flowId] = row;
  const { resource, related, payload } = eventParts(row);
  return (
    `{"id":${id},"external_id":"${eventUuid(context.salt, id, occurred)}","seq":${id},"name":${quoted(name)},` +
    `"occurred":${occurred},"resource":${resource},"related":${related},"payload":${payload},` +
    `"run_id":${runId},"flow_id":${flowId}}`
  );
}

function runParts(row: EventRow): EventParts {
  const [, , , , , , type, stateName, message, , , extra, externalId, runName, tags, parameters, createdBy, project, flow] = row;
  const typeName = type === null ? null : stateType(type);
  const payload: [string, string][] = [
    ["created_by", quoted(createdBy)],
    ["flow", quoted(flow)],
    ["message", quoted(message)],
    ["parameters", stored(parameters, "{}")],
    ["project", quoted(project)],
    ["state", quoted(stateName ?? typeName)],
    ["state_type", quoted(typeName)],
  ];
  return {
    resource: runResource(externalId, runName),
    related: `[${[flowResource(project, flow), ...tagResources(tags)].join(",")}]`,
    payload: sortedObject(payload, extra),
  };
}

/** Parts of an event that user code recorded in a run: the payload is stored whole. */
function customParts(row: EventRow): EventParts {
  const [, , , , , , , , , , , payload, externalId, runName, tags, , , project, flow, taskExternalId] = row;
  const related = [flowResource(project, flow), ...tagResources(tags)];
  if (taskExternalId !== null) related.push(`{"id":${uuidText(taskExternalId)},"kind":"task_run","name":""}`);
  return { resource: runResource(externalId, runName), related: `[${related.join(",")}]`, payload: stored(payload, "{}") };
}

function taskParts(row: EventRow): EventParts {
  const [, , , runId, , , type, stateName, message, , , extra, , runName, , , , project, flow, taskExternalId, ...task] = row;
  const [taskName, dynamicKey] = task;
  const payload: [string, string][] = [
    ["dynamic_key", quoted(dynamicKey)],
    ["flow", quoted(flow)],
    ["message", quoted(message)],
    ["project", quoted(project)],
    ["state", quoted(stateName ?? (type === null ? null : stateType(type)))],
    ["task", quoted(taskName)],
  ];
  const run = `{"id":"${runId}","kind":"run","name":${quoted(runName ?? "")}}`;
  return {
    resource: `{"id":${uuidText(taskExternalId)},"kind":"task_run","name":${quoted(dynamicKey ?? "")}}`,
    related: `[${run},${flowResource(project, flow)}]`,
    payload: sortedObject(payload, extra),
  };
}

function runResource(externalId: Uint8Array | null, name: string | null): string {
  return `{"id":${uuidText(externalId)},"kind":"run","name":${quoted(name ?? "")}}`;
}

function flowResource(project: string | null, name: string | null): string {
  return `{"id":${quoted(`${project ?? ""}/${name ?? ""}`)},"kind":"flow","name":${quoted(name ?? "")}}`;
}

function tagResources(tags: string | null): string[] {
  if (tags === null) return [];
  return (JSON.parse(tags) as string[]).map((tag) => `{"id":${quoted(tag)},"kind":"tag","name":${quoted(tag)}}`);
}

function uuidText(bytes: Uint8Array | null): string {
  return bytes === null ? '""' : `"${bytesToUuid(bytes)}"`;
}

/** An object of these entries, sorted by key, and the extra keys stored with the event. */
function sortedObject(entries: [string, string][], extra: string | null): string {
  const all = extra === null ? entries : mergeEntries(entries, extra);
  return `{${all.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
}

function mergeEntries(entries: [string, string][], extra: string): [string, string][] {
  const merged = new Map(entries);
  for (const [key, value] of Object.entries(JSON.parse(extra) as Record<string, unknown>)) merged.set(key, JSON.stringify(value));
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Never changes once the store has one. */
const contexts = new WeakMap<Statements, EventContext>();

/** The salt of the store's event ids, read once per connection. */
export function eventContext(statements: Statements): EventContext {
  const known = contexts.get(statements);
  if (known !== undefined) return known;
  const row = statements.raw<[string]>("SELECT value FROM settings WHERE name = 'event_salt'").get();
  const context = { salt: Number(row?.[0] ?? 0) };
  if (row !== undefined) contexts.set(statements, context);
  return context;
}

/** The event as JSON text, or null for an unknown id. */
export function eventById(statements: Statements, id: number, context: EventContext): string | null {
  const row = statements.raw<EventRow>(`${SELECT_EVENT} WHERE e.id = ?`).get(id);
  return row === undefined ? null : renderEvent(row, context);
}
