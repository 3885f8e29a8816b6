/** The graph of a run: its task runs and their dependencies. */
import { ANSWER_PART_BYTES_MAX } from "#protocol/limits";
import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { quoted } from "./json.ts";
import { renderState } from "./state-record.ts";
import { SELECT_TASK_RUN, type TaskRunRecordRow } from "./task-run-record.ts";

export interface GraphArguments extends Continued {
  id: number;
  /** Set once all nodes are sent: continue with edges to task runs after this one. */
  edgesAfter?: number;
  /** True when earlier parts hold edges. */
  edgesMade?: boolean;
  /** Continue with the nodes after this task run. */
  nodesAfter?: number;
}

/** A part of the graph: its nodes, then its edges. Edges to unknown task runs are left out. */
export function runGraph(statements: Statements, args: GraphArguments): AnswerPart<GraphArguments> {
  const { id: run, made, nodesAfter = 0, edgesAfter } = args;
  if (edgesAfter !== undefined) return edgesPart(statements, args, "", edgesAfter);
  const rows = statements.raw<TaskRunRecordRow>(`${SELECT_TASK_RUN} WHERE t.run_id = ? AND t.id > ? ORDER BY t.id`);
  const nodes = arrayPart(args, rows.iterate(run, nodesAfter), renderNode, (last) => ({ nodesAfter: last[0] }));
  const text = made === undefined ? `{"run_id":${run},"nodes":${nodes.text}` : nodes.text;
  return nodes.next === null ? edgesPart(statements, args, `${text},"edges":[`, 0) : { ...nodes, text };
}

interface KnownIds {
  run: number;
  newest: number;
  ids: ReadonlyMap<string, number>;
}

/** Cached for the run that each connection read last, because its graph may have hundreds of parts. */
const knownIds = new WeakMap<Statements, KnownIds>();

/** Ids of the task runs of a run by external id; both never change. */
function idsOf(statements: Statements, run: number): ReadonlyMap<string, number> {
  const newest = statements.raw<[number | null]>("SELECT max(id) FROM task_runs WHERE run_id = ?").get(run)?.[0] ?? 0;
  const known = knownIds.get(statements);
  if (known?.run === run && known.newest === newest) return known.ids;
  const ids = new Map<string, number>();
  const all = statements.raw<[Uint8Array, number]>("SELECT external_id, id FROM task_runs WHERE run_id = ?");
  for (const [externalId, id] of all.iterate(run)) ids.set(bytesToUuid(externalId), id);
  knownIds.set(statements, { run, newest, ids });
  return ids;
}

/** Edges to the task runs after `done`, appended to `before`. */
function edgesPart(statements: Statements, args: GraphArguments, before: string, done: number): AnswerPart<GraphArguments> {
  const { id: run } = args;
  const ids = idsOf(statements, run);
  const sql = "SELECT id, parents FROM task_runs WHERE run_id = ? AND id > ? AND parents IS NOT NULL ORDER BY id";
  let text = before;
  let after = done;
  let separator = args.edgesMade === true ? "," : "";
  for (const [id, parents] of statements.raw<[number, string]>(sql).iterate(run, done)) {
    if (text.length >= ANSWER_PART_BYTES_MAX)
      return { text, next: { ...args, edgesAfter: after, edgesMade: separator !== "", made: 0 } };
    for (const parent of JSON.parse(parents) as string[]) {
      const from = ids.get(parent.toLowerCase());
      if (from === undefined) continue;
      text += `${separator}{"from":${from},"to":${id}}`;
      separator = ",";
    }
    after = id;
  }
  return { text: `${text}]}`, next: null };
}

function renderNode(row: TaskRunRecordRow): string {
  const [id, externalId, , name, , dynamicKey, type, stateName, timestamp, message, details, , , createdAt, start, end] = row;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","name":${quoted(name)},"dynamic_key":${quoted(dynamicKey)},` +
    `"state":${renderState(type, stateName, timestamp, message, details)},"created_at":${createdAt},` +
    `"start_time":${start},"end_time":${end}}`
  );
}
