/** Reads the coarse index: the stretches of ids in which values occur, nearest to the cursor first. */
import type { Statements } from "../statements.ts";

/** One filter of a list: rows have one of these values. */
export interface StretchFilter {
  kind: number;
  values: readonly number[];
}

/** Stretches looked up at once. */
const STRETCHES_READ = 64;

/** Yields [first id, last id] of the stretches in which every filter has a match, in the order of the list. */
export function* stretchesOf(
  statements: Statements,
  filters: readonly StretchFilter[],
  cursor: number | null,
  descending: boolean,
  width: number,
): Generator<[number, number]> {
  const [lead, ...others] = filters;
  if (lead === undefined) return;
  const beyond = descending ? "<=" : ">=";
  const direction = descending ? "DESC" : "ASC";
  const exists = others.map(
    () =>
      `AND EXISTS (SELECT 1 FROM stretches o WHERE o.kind = ? AND o.value IN (SELECT value FROM json_each(?)) AND o.stretch = s.stretch)`,
  );
  const one = lead.values.length === 1;
  const sql = `SELECT ${one ? "" : "DISTINCT "}s.stretch FROM stretches s
    WHERE s.kind = ? AND s.value ${one ? "= ?" : "IN (SELECT value FROM json_each(?))"} AND s.stretch ${beyond} ? ${exists.join(" ")}
    ORDER BY s.stretch ${direction} LIMIT ${STRETCHES_READ}`;
  const values = others.flatMap((filter) => [filter.kind, JSON.stringify(filter.values)]);
  const leadValue = one ? (lead.values[0] ?? 0) : JSON.stringify(lead.values);
  let from = cursor === null ? (descending ? Number.MAX_SAFE_INTEGER : 0) : Math.floor(cursor / width);
  for (;;) {
    const found = statements.raw<[number]>(sql).all(lead.kind, leadValue, from, ...values);
    for (const [stretch] of found) yield [stretch * width, stretch * width + width - 1];
    const last = found.at(-1);
    if (last === undefined || found.length < STRETCHES_READ) return;
    from = last[0] + (descending ? -1 : 1);
  }
}
