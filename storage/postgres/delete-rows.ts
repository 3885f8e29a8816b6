/**
 * Deletes runs and flows with all rows they own, as storage/write/delete-rows.ts does in SQLite, in statements for many runs. Their
 * events stay and get the fields they borrowed from those rows.
 */
import { type EventRow, eventParts, SELECT_EVENT } from "../queries/event-record.ts";
import type { Connection } from "./connection.ts";

/** Runs deleted together: their events are read into memory. */
const RUNS_TOGETHER = 500;

const OWNED_BY_RUN = ["task_runs", "log_blocks", "artifacts", "leases", "answers", "reruns", "chains", "parks"].map(
  (table) => `DELETE FROM ${table} WHERE run_id = ANY ($1::int8[])`,
);
const RUN_TABLES = ["live_runs", "ended_runs"].map((table) => `DELETE FROM ${table} WHERE id = ANY ($1::int8[])`);

const KEEP_EVENTS = `UPDATE events t SET resource = u.resource, related = u.related, payload = u.payload,
    resource_kind = u.kind, resource_id = u.subject
  FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    u (id, resource, related, payload, kind, subject) WHERE t.id = u.id`;

const DELETE_TAGS = `DELETE FROM run_tags t USING unnest($1::int8[], $2::text[]) u (run_id, tag), names n
  WHERE index_key(n.name) = index_key(u.tag) AND t.tag = n.id AND t.run_id = u.run_id`;

/** Of these lineages, those that have no run left and that no other one sees. */
const UNSEEN = `SELECT u.id FROM unnest($1::int8[]) u (id)
  WHERE NOT EXISTS (SELECT 1 FROM live_runs WHERE lineage_id = u.id)
    AND NOT EXISTS (SELECT 1 FROM ended_runs WHERE lineage_id = u.id)
    AND NOT EXISTS (SELECT 1 FROM lineages WHERE origin_id = u.id)`;
const OWNED_BY_LINEAGE = ["steps", "waits"].map((table) => `DELETE FROM ${table} WHERE lineage_id = ANY ($1::int8[])`);
const DELETE_LINEAGES = "DELETE FROM lineages WHERE id = ANY ($1::int8[]) RETURNING origin_id";

const OWNED_BY_FLOW = [
  "DELETE FROM skips WHERE schedule_id IN (SELECT id FROM schedules WHERE flow_id = $1)",
  "DELETE FROM schedules WHERE flow_id = $1",
  "DELETE FROM backfills WHERE flow_id = $1",
  "DELETE FROM counts WHERE flow_id = $1",
  "DELETE FROM fan_in WHERE downstream_id = $1",
  "DELETE FROM flows WHERE id = $1",
];

export async function deleteRuns(connection: Connection, ids: readonly number[]): Promise<void> {
  for (let at = 0; at < ids.length; at += RUNS_TOGETHER) await deleteTogether(connection, ids.slice(at, at + RUNS_TOGETHER));
}

export async function deleteFlowRows(connection: Connection, id: number): Promise<void> {
  const runs = "SELECT id FROM live_runs WHERE flow_id = $1 UNION ALL SELECT id FROM ended_runs WHERE flow_id = $1";
  const ids = await connection.rows<[number]>(runs, [id]);
  await deleteRuns(
    connection,
    ids.map(([run]) => run),
  );
  for (const text of OWNED_BY_FLOW) await connection.rows(text, [id]);
}

async function deleteTogether(connection: Connection, asked: readonly number[]): Promise<void> {
  const find = "SELECT id, tags, lineage_id FROM runs WHERE id = ANY ($1::int8[])";
  const runs = await connection.rows<[number, string | null, number | null]>(find, [asked]);
  if (runs.length === 0) return;
  const ids = runs.map(([id]) => id);
  await keepEvents(connection, ids);
  const tagged = runs.flatMap(([id, tags]) => (tags === null ? [] : (JSON.parse(tags) as string[]).map((tag) => ({ id, tag }))));
  if (tagged.length > 0) await connection.rows(DELETE_TAGS, [tagged.map(({ id }) => id), tagged.map(({ tag }) => tag)]);
  for (const text of [...OWNED_BY_RUN, ...RUN_TABLES]) await connection.rows(text, [ids]);
  await deleteLineages(connection, new Set(runs.flatMap(([, , lineage]) => (lineage === null ? [] : [lineage]))));
}

/** Deletes the steps and waits of the lineages that no run and no other lineage sees, and of those that these alone saw. */
async function deleteLineages(connection: Connection, lineages: ReadonlySet<number>): Promise<void> {
  let left = lineages;
  while (left.size > 0) {
    const unseen = (await connection.rows<[number]>(UNSEEN, [[...left]])).map(([id]) => id);
    if (unseen.length === 0) return;
    for (const text of OWNED_BY_LINEAGE) await connection.rows(text, [unseen]);
    const origins = await connection.rows<[number | null]>(DELETE_LINEAGES, [unseen]);
    const seen = [...left].filter((id) => !unseen.includes(id));
    left = new Set([...seen, ...origins.flatMap(([origin]) => (origin === null ? [] : [origin]))]);
  }
}

/** Writes into the events of runs the fields that are otherwise read from the runs. */
async function keepEvents(connection: Connection, runs: readonly number[]): Promise<void> {
  const select = `${SELECT_EVENT} WHERE e.run_id = ANY ($1::int8[]) AND e.resource IS NULL`;
  const rows = await connection.rows<EventRow>(select, [runs]);
  if (rows.length === 0) return;
  const parts = rows.map((row) => eventParts(row));
  const subjects = parts.map(({ resource }) => JSON.parse(resource) as { kind: string; id: string });
  await connection.rows(KEEP_EVENTS, [
    rows.map(([id]) => id),
    parts.map(({ resource }) => resource),
    parts.map(({ related }) => related),
    parts.map(({ payload }) => payload),
    subjects.map(({ kind }) => kind),
    subjects.map(({ id }) => id),
  ]);
}
