/**
 * Reads the coarse index: the stretches of ids that contain given values, nearest to the cursor first.
 *
 * SQLite only: json_each (= ANY of an array).
 */
import { STRETCH_IDS } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { readAll } from "./read-all.ts";

/** One filter of a list: a row has to have one of these values. */
export interface StretchFilter {
  kind: number;
  values: readonly number[];
}

/** Stretches read per step. */
const STRETCHES_READ = 64;

/** First and last id of a stretch. */
export type IdRange = [first: number, last: number];

/** Yields the stretches in which every filter matches, in the order of the list. */
export function* matchingStretches(
  statements: Statements,
  filters: readonly StretchFilter[],
  cursor: number | null,
  descending: boolean,
): Generator<IdRange> {
  const [lead, ...others] = filters;
  if (lead === undefined) return;
  const exists = others.map(
    () =>
      "AND EXISTS (SELECT 1 FROM stretches o WHERE o.kind = ? AND o.value IN (SELECT value FROM json_each(?)) AND o.stretch = s.stretch)",
  );
  const sql = `SELECT s.stretch FROM stretches s WHERE s.kind = ? AND s.value = ? AND s.stretch ${descending ? "<=" : ">="} ?
    ${exists.join(" ")} ORDER BY s.stretch ${descending ? "DESC" : "ASC"} LIMIT ${STRETCHES_READ}`;
  const values = others.flatMap((filter) => [filter.kind, JSON.stringify(filter.values)]);
  // The nearest stretches over all values are among the nearest of each value.
  const read = (from: number) => {
    const reads = lead.values.map((value) => ({ sql, values: [lead.kind, value, from, ...values] }));
    const found = new Set(readAll<[number]>(statements, reads).map(([stretch]) => stretch));
    return [...found].sort((a, b) => (descending ? b - a : a - b)).slice(0, STRETCHES_READ);
  };
  yield* walk(read, cursor, descending);
}

/** Yields the stretches that may contain runs started (or, if never started, created) within the bounds. */
export function* runStretches(
  statements: Statements,
  bounds: { start_after?: number; start_before?: number },
  cursor: number | null,
  descending: boolean,
): Generator<IdRange> {
  const sql = `SELECT stretch FROM run_times WHERE start_max >= ? AND start_min <= ? AND stretch ${descending ? "<=" : ">="} ?
    ORDER BY stretch ${descending ? "DESC" : "ASC"} LIMIT ${STRETCHES_READ}`;
  const statement = statements.raw<[number]>(sql);
  const { start_after = Number.MIN_SAFE_INTEGER, start_before = Number.MAX_SAFE_INTEGER } = bounds;
  yield* walk((from) => statement.all(start_after, start_before, from).map(([stretch]) => stretch), cursor, descending);
}

function* walk(read: (from: number) => number[], cursor: number | null, descending: boolean): Generator<IdRange> {
  let from = descending ? Number.MAX_SAFE_INTEGER : 0;
  if (cursor !== null) from = Math.floor(cursor / STRETCH_IDS);
  for (;;) {
    const found = read(from);
    for (const stretch of found) yield [stretch * STRETCH_IDS, stretch * STRETCH_IDS + STRETCH_IDS - 1];
    const last = found.at(-1);
    if (last === undefined || found.length < STRETCHES_READ) return;
    from = last + (descending ? -1 : 1);
  }
}
