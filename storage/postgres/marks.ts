/**
 * What the writer keeps in memory of the store, read at its start and after a failed commit. Ended runs are not read, however many
 * there are.
 */
import { COUNTED } from "../schema/codes.ts";
import type { CounterValues } from "../write/counters.ts";
import type { Connection } from "./connection.ts";
import type { StoredMarks } from "./fold-batch.ts";

export async function loadMarks(connection: Connection, counters: readonly number[]): Promise<StoredMarks> {
  return {
    counters: Object.fromEntries(COUNTED.map((name, index) => [name, counters[index] ?? 0])) as CounterValues,
    names: new Map(await connection.rows<[string, number]>("SELECT name, id FROM names")),
    living: new Map(await connection.rows<[number, number]>("SELECT id, flow_id FROM live_runs")),
  };
}
