/** Deletes runs and flows with all rows they own. Their events stay and get the fields they borrowed from those rows. */
import { type EventRow, eventParts, SELECT_EVENT } from "../queries/event-record.ts";
import type { Statements } from "../sqlite/statements.ts";

const KEEP_EVENT = "UPDATE events SET resource = ?, related = ?, payload = ? WHERE id = ?";

const OWNED_BY_RUN = [
  "DELETE FROM task_runs WHERE run_id = ?",
  "DELETE FROM log_blocks WHERE run_id = ?",
  "DELETE FROM artifacts WHERE run_id = ?",
  "DELETE FROM leases WHERE run_id = ?",
  "DELETE FROM answers WHERE run_id = ?",
  "DELETE FROM reruns WHERE run_id = ?",
  "DELETE FROM chains WHERE run_id = ?",
  "DELETE FROM parks WHERE run_id = ?",
];

const OWNED_BY_LINEAGE = [
  "DELETE FROM steps WHERE lineage_id = ?",
  "DELETE FROM waits WHERE lineage_id = ?",
  "DELETE FROM lineages WHERE id = ?",
];

const OWNED_BY_FLOW = [
  "DELETE FROM skips WHERE schedule_id IN (SELECT id FROM schedules WHERE flow_id = ?)",
  "DELETE FROM schedules WHERE flow_id = ?",
  "DELETE FROM backfills WHERE flow_id = ?",
  "DELETE FROM counts WHERE flow_id = ?",
  "DELETE FROM fan_in WHERE downstream_id = ?",
];

export function deleteRun(statements: Statements, id: number): void {
  const run = statements.raw<[string | null, number | null]>("SELECT tags, lineage_id FROM runs WHERE id = ?").get(id);
  if (run === undefined) return;
  keepEvents(statements, id);
  if (run[0] !== null) deleteTags(statements, id, JSON.parse(run[0]) as string[]);
  for (const sql of OWNED_BY_RUN) statements.raw(sql).run(id);
  statements.raw("DELETE FROM runs WHERE id = ?").run(id);
  if (run[1] !== null) deleteLineage(statements, run[1]);
}

/** Deletes the steps and waits of a lineage that has no run left and that no other one sees, and of those it alone saw. */
function deleteLineage(statements: Statements, lineage: number): void {
  let id: number | null = lineage;
  while (id !== null) {
    const isSeen = "SELECT 1 FROM runs WHERE lineage_id = ? UNION ALL SELECT 1 FROM lineages WHERE origin_id = ? LIMIT 1";
    if (statements.raw(isSeen).get(id, id) !== undefined) return;
    const origin = statements.raw<[number | null]>("SELECT origin_id FROM lineages WHERE id = ?").get(id);
    for (const sql of OWNED_BY_LINEAGE) statements.raw(sql).run(id);
    id = origin?.[0] ?? null;
  }
}

export function deleteFlow(statements: Statements, id: number): void {
  const runs =
    "SELECT id FROM runs WHERE flow_id = ? AND end_time IS NULL UNION ALL SELECT id FROM runs WHERE flow_id = ? AND end_time IS NOT NULL";
  for (const [run] of statements.raw<[number]>(runs).all(id, id)) deleteRun(statements, run);
  for (const sql of OWNED_BY_FLOW) statements.raw(sql).run(id);
  statements.raw("DELETE FROM flows WHERE id = ?").run(id);
}

/** Writes into the events of a run the fields that are otherwise read from the run. */
function keepEvents(statements: Statements, run: number): void {
  const rows = statements.raw<EventRow>(`${SELECT_EVENT} WHERE e.run_id = ? AND e.resource IS NULL`).all(run);
  for (const row of rows) {
    const { resource, related, payload } = eventParts(row);
    statements.raw(KEEP_EVENT).run(resource, related, payload, row[0]);
  }
}

function deleteTags(statements: Statements, run: number, tags: readonly string[]): void {
  const sql = "DELETE FROM run_tags WHERE tag = (SELECT id FROM names WHERE name = ?) AND run_id = ?";
  for (const tag of tags) statements.raw(sql).run(tag, run);
}
