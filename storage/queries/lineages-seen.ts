/** What a lineage sees of those that it was forked from. */
import type { Statements } from "../sqlite/statements.ts";

/** A lineage of the chain, and what is seen of it: all, or what is older than a task run and a time. */
export interface SeenLineage {
  lineage: number;
  task: number;
  time: number;
}

/** The lineage itself and those it was forked from, the latest first. */
export function lineagesSeen(statements: Statements, own: number): SeenLineage[] {
  const found: SeenLineage[] = [];
  let task = Number.MAX_SAFE_INTEGER;
  let time = Number.MAX_SAFE_INTEGER;
  for (let lineage: number | null = own; lineage !== null; ) {
    found.push({ lineage, task, time });
    const sql = "SELECT origin_id, before_task, before_time FROM lineages WHERE id = ?";
    const row = statements.raw<[number | null, number | null, number | null]>(sql).get(lineage);
    if (row?.[1] != null) task = Math.min(task, row[1]);
    if (row?.[2] != null) time = Math.min(time, row[2]);
    lineage = row?.[0] ?? null;
  }
  return found;
}
