/** Rows of several statements, for lists whose rows lie in several parts of an index. */
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";

export interface Read {
  sql: string;
  values: readonly SqlValue[];
}

/** Statements that are sent as one. */
const SENT_TOGETHER = 64;

/** The rows of the statements, in their order, as arrays. */
export function readAll<Row>(statements: Statements, reads: readonly Read[]): Row[] {
  if (statements.database.kind === "sqlite") return reads.flatMap(({ sql, values }) => statements.raw<Row>(sql).all(...values));
  // Each statement takes a round trip.
  const rows: Row[] = [];
  for (let index = 0; index < reads.length; index += SENT_TOGETHER) {
    const some = reads.slice(index, index + SENT_TOGETHER);
    const sql = some.map((read) => `(${read.sql})`).join(" UNION ALL ");
    for (const row of statements.raw<Row>(sql).all(...some.flatMap(({ values }) => values))) rows.push(row);
  }
  return rows;
}
