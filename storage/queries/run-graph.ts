/** The graph of a run: its task runs and which waited on which. */
import { bytesToUuid } from "#protocol/uuid";
import type { Statements } from "../statements.ts";
import { quoted } from "./json.ts";
import { renderState } from "./state-record.ts";
import { SELECT_TASK_RUN, type TaskRunRow } from "./task-run-record.ts";

/** JSON text of the graph; edges to unknown task runs are left out. */
export function runGraph(statements: Statements, run: number): string {
  const rows = statements.raw<TaskRunRow>(`${SELECT_TASK_RUN} WHERE t.run_id = ? ORDER BY t.id`).all(run);
  const ids = new Map(rows.map((row) => [bytesToUuid(row[1]), row[0]]));
  const edges: string[] = [];
  for (const row of rows) {
    const parents = row[17];
    if (parents === null) continue;
    for (const parent of JSON.parse(parents) as string[]) {
      const from = ids.get(parent.toLowerCase());
      if (from !== undefined) edges.push(`{"from":${from},"to":${row[0]}}`);
    }
  }
  return `{"run_id":${run},"nodes":[${rows.map(renderNode).join(",")}],"edges":[${edges.join(",")}]}`;
}

function renderNode(row: TaskRunRow): string {
  const [id, externalId, , name, , dynamicKey, type, stateName, timestamp, message, details, , , createdAt, start, end] = row;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","name":${quoted(name)},"dynamic_key":${quoted(dynamicKey)},` +
    `"state":${renderState(type, stateName, timestamp, message, details)},"created_at":${createdAt},` +
    `"start_time":${start},"end_time":${end}}`
  );
}
