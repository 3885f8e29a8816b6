/** Rows of several statements, for lists whose rows lie in several parts of an index. */
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";

export interface Read {
  sql: string;
  values: readonly SqlValue[];
}

/** Statements that are sent as one. */
const SENT_TOGETHER = 64;

/** The first rows of all statements together. */
export interface First {
  /** Of ORDER BY, by numbers of columns. */
  order: string;
  limit: number;
  /** Makes the statement of PostgreSQL that is sent of the one with these rows: for more columns. */
  widened?: (sql: string) => string;
}

/** The rows of the statements, in their order, as arrays. */
export function readAll<Row>(statements: Statements, reads: readonly Read[]): Row[] {
  return readTogether(statements, reads, (union) => ({ sql: union, values: [] }));
}

/** Rows of the statements, the first ones of all of them included: the caller orders the rows and drops others. */
export function readFirst<Row>(
  statements: Statements,
  reads: readonly Read[],
  { order, limit, widened = (sql) => sql }: First,
): Row[] {
  return readTogether(statements, reads, (union) => {
    if (reads.length === 1) return { sql: widened(union), values: [] };
    return { sql: widened(`SELECT * FROM (${union}) AS found ORDER BY ${order} LIMIT ?`), values: [limit] };
  });
}

function readTogether<Row>(statements: Statements, reads: readonly Read[], of: (union: string) => Read): Row[] {
  if (statements.database.kind === "sqlite") return reads.flatMap(({ sql, values }) => statements.raw<Row>(sql).all(...values));
  // Each statement takes a round trip.
  const rows: Row[] = [];
  for (let index = 0; index < reads.length; index += SENT_TOGETHER) {
    const some = reads.slice(index, index + SENT_TOGETHER);
    const { sql, values } = of(some.map((read) => `(${read.sql})`).join(" UNION ALL "));
    for (const row of statements.raw<Row>(sql).all(...some.flatMap((read) => read.values), ...values)) rows.push(row);
  }
  return rows;
}
