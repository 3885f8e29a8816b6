/** What a stream message is about, for filters of the stream: by key alone, because the gateway's own thread asks. */
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
  /** Name of an event; null for other messages. */
  name: string | null;
  /** Whether the run has these parameters; reads the store. */
  hasParameters(filter: ParameterFilter): boolean;
}

const NO_TAGS: readonly string[] = [];
const NOTHING: MessageSubject = { run: null, flow: null, project: null, tags: NO_TAGS, name: null, hasParameters: () => false };

type Owner = [run: number | null, flow: number | null];

/** Columns `run_id, flow_id` of the row behind a message. */
const OWNERS: Partial<Record<StreamKind, string>> = {
  "task_run.updated": "SELECT run_id, NULL FROM task_runs WHERE id = ?",
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
  if (kind === "run.updated" || kind === "log.appended") return subjectOfRun(statements, Number(id));
  if (kind === "flow.registered") return subjectOfFlow(statements, Number(id));
  if (kind === "event.created") return subjectOfEvent(statements, Number(id));
  const sql = OWNERS[kind];
  if (sql === undefined) return NOTHING;
  const owner = statements.raw<Owner>(sql).get(Number(id));
  return owner === undefined ? null : subjectOfOwner(statements, owner);
}

function subjectOfOwner(statements: Statements, [run, flow]: Owner): MessageSubject | null {
  if (run !== null) return subjectOfRun(statements, run);
  return flow === null ? NOTHING : subjectOfFlow(statements, flow);
}

function subjectOfRun(statements: Statements, id: number): MessageSubject | null {
  const row = statements
    .raw<[number, string, string | null]>(
      "SELECT r.flow_id, f.project, r.tags FROM runs r JOIN flows f ON f.id = r.flow_id WHERE r.id = ?",
    )
    .get(id);
  if (row === undefined) return null;
  const [flow, project, tags] = row;
  return {
    ...{ run: id, flow, project, tags: tags === null ? NO_TAGS : (JSON.parse(tags) as string[]), name: null },
    hasParameters: (filter) => hasParameters(statements, id, filter),
  };
}

function subjectOfFlow(statements: Statements, id: number): MessageSubject | null {
  const project = statements.raw<[string]>("SELECT project FROM flows WHERE id = ?").get(id)?.[0];
  return project === undefined ? null : { ...NOTHING, flow: id, project };
}

/** An event outlives its run and its flow, of which it then has only the ids. */
function subjectOfEvent(statements: Statements, id: number): MessageSubject | null {
  const row = statements
    .raw<[string, number | null, number | null]>(
      "SELECT n.name, e.run_id, e.flow_id FROM events e JOIN names n ON n.id = e.name WHERE e.id = ?",
    )
    .get(id);
  if (row === undefined) return null;
  const [name, run, flow] = row;
  const owner = subjectOfOwner(statements, [run, flow]);
  return owner === null ? { ...NOTHING, run, flow, name } : { ...owner, name };
}
