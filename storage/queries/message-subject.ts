/**
 * What stream messages are about, for filters of the stream: by key alone, because the gateway's own thread asks.
 *
 * SQLite only: json_each (= ANY of an array).
 */
import type { StreamKind } from "#protocol/wire/feed";
import type { Statements } from "../sqlite/statements.ts";
import { hasParameters, type ParameterFilter } from "./parameter-filter.ts";

/** The run and flow of a message. None of it changes as long as the run exists. */
export interface MessageSubject {
  run: number | null;
  flow: number | null;
  project: string | null;
  /** Tags of the run; none for messages that are not about a run. */
  tags: readonly string[];
  /** Whether the run has these parameters; reads the store. */
  hasParameters(filter: ParameterFilter): boolean;
}

const NO_TAGS: readonly string[] = [];
const NOTHING: MessageSubject = { run: null, flow: null, project: null, tags: NO_TAGS, hasParameters: () => false };

type Owner = [run: number | null, flow: number | null];
type RunRow = [id: number, flow: number, project: string, tags: string | null];

const SELECT_RUN = "SELECT r.id, r.flow_id, f.project, r.tags FROM runs r JOIN flows f ON f.id = r.flow_id";
const LISTED = "IN (SELECT value FROM json_each(?))";

/** Columns `run_id, flow_id` of the row behind a message. */
const OWNERS: Partial<Record<StreamKind, string>> = {
  "task_run.updated": "SELECT run_id, NULL FROM task_runs WHERE id = ?",
  "event.created": "SELECT run_id, flow_id FROM events WHERE id = ?",
  "artifact.updated": "SELECT run_id, NULL FROM artifacts WHERE id = ?",
  "schedule.updated": "SELECT NULL, flow_id FROM schedules WHERE id = ?",
  "backfill.created": "SELECT NULL, flow_id FROM backfills WHERE id = ?",
  "backfill.updated": "SELECT NULL, flow_id FROM backfills WHERE id = ?",
  "expectation.armed": "SELECT run_id, flow_id FROM expectations WHERE id = ?",
  "expectation.met": "SELECT run_id, flow_id FROM expectations WHERE id = ?",
  "expectation.lapsed": "SELECT run_id, flow_id FROM events WHERE id = ?",
};

/** Null when the row was deleted. */
export function messageSubject(statements: Statements, kind: StreamKind, id: number | string): MessageSubject | null {
  if (kind === "run.updated" || kind === "log.appended") return runSubject(statements, Number(id));
  if (kind === "flow.registered") return flowSubject(statements, Number(id));
  const sql = OWNERS[kind];
  if (sql === undefined) return NOTHING;
  const owner = statements.raw<Owner>(sql).get(Number(id));
  if (owner === undefined) return null;
  const [run, flow] = owner;
  const subject = run === null ? flowSubject(statements, flow) : runSubject(statements, run);
  // An event outlives its run and its flow, of which it then has only the ids.
  return subject === null && kind === "event.created" ? { ...NOTHING, run, flow } : subject;
}

/** Null for an unknown run. */
function runSubject(statements: Statements, id: number): MessageSubject | null {
  const row = statements.raw<RunRow>(`${SELECT_RUN} WHERE r.id = ?`).get(id);
  return row === undefined ? null : subjectOf(statements, row);
}

/** The subjects of the runs that exist, by id. */
export function runSubjects(statements: Statements, ids: readonly number[]): Map<number, MessageSubject> {
  const rows = statements.raw<RunRow>(`${SELECT_RUN} WHERE r.id ${LISTED}`).all(JSON.stringify(ids));
  return new Map(rows.map((row) => [row[0], subjectOf(statements, row)]));
}

function subjectOf(statements: Statements, [run, flow, project, tags]: RunRow): MessageSubject {
  return {
    ...{ run, flow, project, tags: tags === null ? NO_TAGS : (JSON.parse(tags) as string[]) },
    hasParameters: (filter) => hasParameters(statements, run, filter),
  };
}

function flowSubject(statements: Statements, id: number | null): MessageSubject | null {
  if (id === null) return NOTHING;
  const project = statements.raw<[string]>("SELECT project FROM flows WHERE id = ?").get(id)?.[0];
  return project === undefined ? null : { ...NOTHING, flow: id, project };
}

/** The names of the events that exist, by id. */
export function eventNames(statements: Statements, ids: readonly number[]): Map<number, string> {
  const select = `SELECT e.id, n.name FROM events e JOIN names n ON n.id = e.name WHERE e.id ${LISTED}`;
  return new Map(statements.raw<[number, string]>(select).all(JSON.stringify(ids)));
}
