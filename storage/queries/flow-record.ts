/**
 * Flow records and summaries (interface: "Flow"; decisions: FlowSummary).
 *
 * SQLite only: instr (strpos).
 */
import { RECENT_RUNS_COUNT } from "#protocol/limits";
import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { ENDED_STATES, latestRuns, statesOf } from "./flow-runs.ts";
import { flag, quoted, stored } from "./json.ts";
import { schedulesOf } from "./schedule-record.ts";

type FlowRow = [
  id: number,
  external_id: Uint8Array,
  project: string,
  name: string,
  module: string,
  source_dir: string,
  description: string | null,
  flow_group: string | null,
  tags: string | null,
  parameter_schema: string | null,
  options: string | null,
  error: string | null,
  schedule_error: string | null,
  created_at: number,
  last_seen_at: number,
];

/** Project, name and options of a flow; the options hold the upstream flow. */
type UpstreamRow = [project: string, name: string, options: string];

/** Facts about flows that the store does not hold. */
export interface FlowContext {
  /** True for a flow that the running server registered from code. */
  isLive: (flow: number) => boolean;
  nowUs: number;
  /** Number of latest ended runs in a summary; none when absent. */
  results?: number;
}

const SELECT_FLOW = `SELECT id, external_id, project, name, module, source_dir, description, flow_group, tags, parameter_schema, options,
  error, schedule_error, created_at, last_seen_at FROM flows`;

/** The upstream flow that the options name. */
interface After {
  upstreams: string[];
  key: string | null;
}

function fields(row: FlowRow, context: FlowContext): string {
  const [
    id,
    externalId,
    project,
    name,
    module,
    dir,
    description,
    group,
    tags,
    schema,
    options,
    error,
    scheduleError,
    created,
    seen,
  ] = row;
  return (
    `"id":${id},"external_id":"${bytesToUuid(externalId)}","project":${quoted(project)},"name":${quoted(name)},` +
    `"module":${quoted(module)},"source_dir":${quoted(dir)},"description":${quoted(description)},` +
    `"group":${quoted(group ?? project)},"tags":${stored(tags, "[]")},"parameter_schema":${stored(schema, "{}")},` +
    `"options":${stored(options, "{}")},"live":${flag(context.isLive(id) ? 1 : 0)},"error":${quoted(error)},` +
    `"schedule_error":${quoted(scheduleError)},` +
    `"created_at":${created},"last_seen_at":${seen}`
  );
}

/** The flow without its runs (stream message flow.registered) as JSON text, or null for an unknown id. */
export function flowById(statements: Statements, id: number, context: FlowContext): string | null {
  const row = statements.raw<FlowRow>(`${SELECT_FLOW} WHERE id = ?`).get(id);
  return row === undefined ? null : `{${fields(row, context)}}`;
}

/** The summary as JSON text, or null for an unknown flow. */
export function flowSummary(statements: Statements, id: number, context: FlowContext): string | null {
  const row = statements.raw<FlowRow>(`${SELECT_FLOW} WHERE id = ?`).get(id);
  if (row === undefined) return null;
  const [summary = null] = summaries(statements, [row], triggersOf(statements, row[2]), context);
  return summary;
}

export interface FlowsArguments extends Continued {
  project: string | null;
  /** Only flows with this name or this `project/name`; set only by the server. */
  reference?: string;
  results?: number;
  live: readonly number[];
  now_us: number;
  /** Only flows after this project and name. */
  after?: [project: string, name: string];
}

/** A part of the summaries of all flows, or of one project's flows, by project and name. */
export function flowSummaries(statements: Statements, args: FlowsArguments, context: FlowContext): AnswerPart<FlowsArguments> {
  const { project, reference = null, after = ["", ""] } = args;
  const sql = `${SELECT_FLOW} WHERE (project, name) > (?, ?) AND project = coalesce(?, project)
    AND coalesce(?, name) IN (name, project || '/' || name) ORDER BY project, name`;
  const triggers = triggersOf(statements, project);
  const rows = statements.raw<FlowRow>(sql).iterate(...after, project, reference);
  const shown = function* (): Iterable<Shown> {
    for (const some of groupsOf(rows)) {
      const texts = summaries(statements, some, triggers, context);
      for (const [index, row] of some.entries()) yield { row, text: texts[index] ?? "" };
    }
  };
  return arrayPart(
    args,
    shown(),
    ({ text }) => text,
    ({ row }) => ({ after: [row[2], row[3]] }),
  );
}

/** A flow of a list, and its summary. */
interface Shown {
  row: FlowRow;
  text: string;
}

/** Flows whose runs and schedules are read together: each statement of PostgreSQL takes a round trip. */
const READ_TOGETHER = 50;

function* groupsOf(rows: Iterable<FlowRow>): Iterable<FlowRow[]> {
  let group: FlowRow[] = [];
  for (const row of rows) {
    group.push(row);
    if (group.length < READ_TOGETHER) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

function summaries(
  statements: Statements,
  rows: readonly FlowRow[],
  triggers: Map<string, string[]>,
  context: FlowContext,
): string[] {
  const ids = rows.map(([id]) => id);
  const states = statesOf(statements, ids);
  const recent = latestRuns(statements, states, RECENT_RUNS_COUNT);
  const wanted = context.results ?? 0;
  const ended = new Map([...states].map(([id, codes]) => [id, codes.filter((code) => ENDED_STATES.has(code))]));
  const results = wanted === 0 ? null : latestRuns(statements, ended, wanted);
  const schedules = schedulesOf(statements, ids, context.nowUs);
  return rows.map((row) => {
    const [id, , project, name] = row;
    const { upstreams, key } = afterOf(row[10]);
    const downstream = triggers.get(nameKey(project, name)) ?? [];
    return (
      `{${fields(row, context)},"recent_runs":${recent.get(id) ?? "[]"},` +
      `${results === null ? "" : `"results":${results.get(id) ?? "[]"},`}"triggers":${JSON.stringify(downstream)},` +
      `"triggered_by":${quoted(upstreams[0] ?? null)},"upstreams":${JSON.stringify(upstreams)},"batch_key":${quoted(key)},` +
      `"schedules":${schedules.get(id) ?? "[]"}}`
    );
  });
}

function nameKey(project: string, name: string): string {
  return JSON.stringify([project, name]);
}

/** Names of the downstream flows of each flow, of one project or all, sorted by project and name. */
function triggersOf(statements: Statements, project: string | null): Map<string, string[]> {
  const sql = `SELECT project, name, options FROM flows WHERE project = coalesce(?, project) AND instr(options, '"after"') > 0
    ORDER BY name`;
  const triggers = new Map<string, string[]>();
  for (const [own, name, options] of statements.raw<UpstreamRow>(sql).iterate(project)) {
    for (const upstream of afterOf(options).upstreams) {
      const key = nameKey(own, upstream);
      const waiting = triggers.get(key);
      if (waiting === undefined) triggers.set(key, [name]);
      else waiting.push(name);
    }
  }
  return triggers;
}

function afterOf(options: string | null): After {
  if (options === null || !options.includes('"after"')) return { upstreams: [], key: null };
  const after = (JSON.parse(options) as { after?: { flow?: unknown; flows?: unknown; key?: unknown } | null }).after;
  if (after === null || after === undefined) return { upstreams: [], key: null };
  const several = Array.isArray(after.flows) ? after.flows.map(String) : [];
  const upstreams = several.length > 0 ? several : typeof after.flow === "string" ? [after.flow] : [];
  return { upstreams, key: typeof after.key === "string" ? after.key : null };
}
