/** What the writer keeps in memory of the store, read at its start and after a failed commit; and the owner's row. */
import { COUNTED } from "../schema/codes.ts";
import type { CounterValues } from "../write/counters.ts";
import type { Connection } from "./connection.ts";
import type { StoredMarks } from "./fold-batch.ts";

/** Takes the store under a new epoch, which fences the commits of the epoch before; the numbers of commits start after 0. */
export async function takeOver(connection: Connection, member: number): Promise<number> {
  const zeros = `{${COUNTED.map(() => 0).join(",")}}`;
  const [row] = await connection.rows<[number]>(
    `INSERT INTO members (member, epoch, fenced, number, counters) VALUES ($1, 1, 0, 0, $2)
      ON CONFLICT (member) DO UPDATE SET epoch = members.epoch + 1, number = 0 RETURNING epoch`,
    [member, zeros],
  );
  return row?.[0] ?? 0;
}

export async function loadMarks(connection: Connection, member: number): Promise<StoredMarks> {
  const counters = await connection.rows<[number]>(
    "SELECT value FROM members, unnest(counters) WITH ORDINALITY AS c (value, place) WHERE member = $1 ORDER BY place",
    [member],
  );
  const names = await connection.rows<[string, number]>("SELECT name, id FROM names");
  const living = await connection.rows<[number, number]>("SELECT id, flow_id FROM live_runs");
  return {
    counters: Object.fromEntries(COUNTED.map((name, index) => [name, counters[index]?.[0] ?? 0])) as CounterValues,
    names: new Map(names),
    living: new Map(living),
  };
}
