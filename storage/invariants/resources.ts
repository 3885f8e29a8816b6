/**
 * I4: leases on a resource stay within its total.
 *
 * SQLite only: json_extract (a column that the writer fills).
 */
import type { Statements } from "../sqlite/statements.ts";
import { type Finding, type Invariant, type InvariantFacts, told } from "./invariant.ts";

/** Amounts are fractions, so compare their sums with a tolerance. */
const ROUNDING = 1e-9;
/** Total of an undeclared resource. */
const UNDECLARED_TOTAL = 1;

interface Total {
  amount: number;
  /** The total never changes, so no lease was granted under a larger one. */
  fixed: boolean;
}

export const WITHIN_CAPACITY: Invariant = {
  id: "I4",
  title: "leases in use never exceed the capacity of their resource",
  unchecked: "totals of millrace.toml are known on a running server only",
  check(statements, facts) {
    const used = new Map<string, number>();
    for (const [text] of statements.raw<[string]>("SELECT resources FROM leases").all()) {
      for (const [name, amount] of Object.entries(JSON.parse(text) as Record<string, number>))
        used.set(name, (used.get(name) ?? 0) + amount);
    }
    return [...used].flatMap(([name, amount]) => excess(statements, facts, name, amount));
  },
};

function excess(statements: Statements, facts: InvariantFacts, name: string, used: number): Finding[] {
  const total = totalOf(statements, facts, name);
  if (total === null || used <= total.amount + ROUNDING) return [];
  const text = `${used} of ${name} are in use, there are ${total.amount}`;
  return told(
    [total.fixed ? text : `${text}; right only if the total was lowered after that`],
    total.fixed ? "broken" : "unusual",
  );
}

function totalOf(statements: Statements, { totals }: InvariantFacts, name: string): Total | null {
  const backfill = /^backfill:(\d+)$/.exec(name)?.[1];
  if (backfill !== undefined) {
    const row = statements.raw<[number]>("SELECT concurrency FROM backfills WHERE id = ?").get(Number(backfill));
    return row === undefined ? null : { amount: row[0], fixed: true };
  }
  const stated = totals?.[name];
  if (stated !== undefined) return { amount: stated, fixed: false };
  if (name.startsWith("flow:")) return maxConcurrent(statements, name.slice("flow:".length));
  return totals === null ? null : { amount: UNDECLARED_TOTAL, fixed: false };
}

function maxConcurrent(statements: Statements, key: string): Total | null {
  const limit = `json_extract(options, '$."max_concurrent"')`;
  const sql = `SELECT CAST(${limit} AS DOUBLE PRECISION) FROM flows WHERE project || '/' || name = ?`;
  const amount = statements.raw<[number | null]>(sql).get(key)?.[0] ?? null;
  return amount === null ? null : { amount, fixed: false };
}
