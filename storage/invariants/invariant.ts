/** What a check of the stored data is: a promise of the server, and whether the rows keep it. */
import type { Statements } from "../statements.ts";

export interface Finding {
  /** broken: a promise is not kept. unusual: it can have come about in an orderly way, but a person should look. */
  level: "broken" | "unusual";
  text: string;
}

/** What the rows alone do not say. */
export interface InvariantFacts {
  /** Totals of resources by name, where a server tells them. */
  totals: Readonly<Record<string, number>> | null;
  /** The text behind a sealed value of a variable, null where it cannot be opened. */
  open(sealed: string): string | null;
}

export interface Invariant {
  id: string;
  /** The promise, in one line. */
  title: string;
  /** What of it no look at the store can tell, null when it is checked whole. */
  unchecked: string | null;
  /** Null where there is nothing to look at. */
  check: ((statements: Statements, facts: InvariantFacts) => Finding[]) | null;
}

/** Findings of one kind that are told one by one; the rest is only counted. */
const TOLD_MAX = 5;

/** One finding per row of a query whose columns the text is made of. */
export function findRows<Row>(
  statements: Statements,
  sql: string,
  text: (row: Row) => string,
  level: Finding["level"] = "broken",
): Finding[] {
  return told(statements.raw<Row>(sql).all().map(text), level);
}

/** Findings of these texts, many of them cut short. */
export function told(texts: readonly string[], level: Finding["level"] = "broken"): Finding[] {
  const findings = texts.slice(0, TOLD_MAX).map((text): Finding => ({ level, text }));
  if (texts.length > TOLD_MAX) findings.push({ level, text: `and ${texts.length - TOLD_MAX} more of this kind` });
  return findings;
}
