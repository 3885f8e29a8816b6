/** What the rules load at the start of the core: rules with their guards, pending firings, open expectations, the cursor. */

import type { Statements } from "../sqlite/statements.ts";
import { readCounters } from "../write/counters.ts";
import type { StoredRow } from "../write/ops.ts";
import { eachRecord, records } from "./records.ts";

export type RuleRow = StoredRow<"put_rule">;

export interface LoadedRule {
  rule: RuleRow;
  /** JSON text; null without guards. */
  guards: string | null;
}

/** With pending actions. */
export type FiringRow = StoredRow<"put_firing"> & { pending: string };

export type ExpectationRow = Omit<StoredRow<"put_expectation">, "status">;

export interface LoadedRules {
  /** Read one by one, so that the rows take no memory beside the rules built from them. */
  rules: Iterable<LoadedRule>;
  /** Firings with pending actions, by id. */
  firings: FiringRow[];
  /** Open expectations, by deadline. */
  expectations: ExpectationRow[];
  /** Outbound messages without an answer, by id; `request` is JSON text. */
  outbound: { id: number; firing_id: number | null; request: string }[];
  /** The newest event whose reactions are stored. */
  cursor: number;
  next_ids: { rule: number; firing: number; expectation: number; outbound: number; event: number };
}

/** Name of the rules' cursor in the table of cursors. */
export const RULE_CURSOR = "rules";

export function loadRules(statements: Statements): LoadedRules {
  const counters = readCounters(statements);
  const cursor = statements.raw<[number]>("SELECT event_id FROM cursors WHERE name = ?").get(RULE_CURSOR);
  return {
    rules: readRules(statements),
    firings: readFirings(statements),
    expectations: readExpectations(statements),
    outbound: statements
      .raw<[number, number | null, string]>("SELECT id, firing_id, request FROM outbound ORDER BY id")
      .all()
      .map(([id, firing_id, request]) => ({ id, firing_id, request })),
    cursor: cursor?.[0] ?? 0,
    next_ids: {
      rule: counters.rules + 1,
      firing: counters.firings + 1,
      expectation: counters.expectations + 1,
      outbound: counters.outbound + 1,
      event: counters.events + 1,
    },
  };
}

function* readRules(statements: Statements): Generator<LoadedRule> {
  const guards = new Map(statements.raw<[number, string]>("SELECT rule_id, state FROM rule_guards").all());
  for (const rule of eachRecord(statements, "put_rule", "rules", "ORDER BY id"))
    yield { rule, guards: guards.get(rule.id) ?? null };
}

function readFirings(statements: Statements): FiringRow[] {
  const firings = records(statements, "put_firing", "firings", "WHERE pending IS NOT NULL ORDER BY id");
  return firings.filter((firing): firing is FiringRow => firing.pending !== null);
}

function readExpectations(statements: Statements): ExpectationRow[] {
  const open = records(statements, "put_expectation", "expectations", "WHERE status = 'open' ORDER BY deadline");
  return open.map(({ status: _open, ...row }) => row);
}

/** True when the rule has fired for the run. */
export function hasFired(statements: Statements, ruleId: number, runId: number): boolean {
  return statements.raw("SELECT 1 FROM fired WHERE run_id = ? AND rule_id = ?").get(runId, ruleId) !== undefined;
}

/** Length of the chain of rules that created or moved a run; 0 for none. */
export function chainOf(statements: Statements, runId: number): number {
  return statements.raw<[number]>("SELECT depth FROM chains WHERE run_id = ?").get(runId)?.[0] ?? 0;
}
