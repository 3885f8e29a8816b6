/** A check of the stored data: a promise of the server, and whether the rows keep the promise. */
import type { Statements } from "../sqlite/statements.ts";

export interface Finding {
  /** broken: the promise is not kept. unusual: a legitimate state is possible, but a person should look. */
  level: "broken" | "unusual";
  text: string;
}

/** Facts for the checks that the rows do not hold. */
export interface InvariantFacts {
  /** Totals of resources by name, if a server reports them. */
  totals: Readonly<Record<string, number>> | null;
  /** The plain text of a variable's sealed value; null if it cannot be opened. */
  open(sealed: string): string | null;
}

export interface Invariant {
  id: string;
  /** The promise, in one line. */
  title: string;
  /** The part of the promise that no check of a store covers; null when the check is complete. */
  unchecked: string | null;
  /** Null when there is nothing to check. */
  check: ((statements: Statements, facts: InvariantFacts) => Finding[]) | null;
}

/** Findings of one kind that are listed; the rest is only counted. */
const TOLD_MAX = 5;

/** One finding per row of a query; `text` builds it from the columns. */
export function findRows<Row>(
  statements: Statements,
  sql: string,
  text: (row: Row) => string,
  level: Finding["level"] = "broken",
): Finding[] {
  return told(statements.raw<Row>(sql).all().map(text), level);
}

/** Findings with these texts, cut after TOLD_MAX. */
export function told(texts: readonly string[], level: Finding["level"] = "broken"): Finding[] {
  const findings = texts.slice(0, TOLD_MAX).map((text): Finding => ({ level, text }));
  if (texts.length > TOLD_MAX) findings.push({ level, text: `and ${texts.length - TOLD_MAX} more of this kind` });
  return findings;
}
