/** What the rules load at the start of the core: rules with their guards, pending firings, open expectations, the cursor. */

import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { readCounters } from "../write/counters.ts";

export interface RuleRow {
  id: number;
  external_id: string;
  name: string;
  enabled: boolean;
  source: string;
  module: string | null;
  /** JSON text. */
  spec: string;
  fire_count: number;
  last_fired: number | null;
  since_event: number;
  since_time: number;
  created_at: number;
  updated_at: number;
  /** JSON text; null without guards. */
  guards: string | null;
}

export interface FiringRow {
  id: number;
  rule_id: number;
  event_id: number | null;
  run_id: number | null;
  timestamp: number;
  /** JSON texts. */
  outcomes: string;
  pending: string;
}

export interface ExpectationRow {
  id: number;
  rule_id: number;
  key: string;
  armed_at: number;
  deadline: number;
  flow_id: number | null;
  run_id: number | null;
}

export interface LoadedRules {
  rules: RuleRow[];
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

type RuleValues = [number, Uint8Array, string, number, string, string | null, string, number, number | null, ...number[]];

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

function readRules(statements: Statements): RuleRow[] {
  const guards = new Map(statements.raw<[number, string]>("SELECT rule_id, state FROM rule_guards").all());
  const sql = `SELECT id, external_id, name, enabled, source, module, spec, fire_count, last_fired, since_event, since_time,
    created_at, updated_at FROM rules ORDER BY id`;
  return statements
    .raw<RuleValues>(sql)
    .all()
    .map(([id, externalId, name, enabled, source, module, spec, fire_count, last_fired, ...times]) => {
      const [since_event = 0, since_time = 0, created_at = 0, updated_at = 0] = times;
      const identity = { id, external_id: bytesToUuid(externalId), name, enabled: enabled === 1, source, module, spec };
      return {
        ...identity,
        fire_count,
        last_fired,
        since_event,
        since_time,
        created_at,
        updated_at,
        guards: guards.get(id) ?? null,
      };
    });
}

function readFirings(statements: Statements): FiringRow[] {
  const sql = `SELECT id, rule_id, event_id, run_id, timestamp, outcomes, pending FROM firings WHERE pending IS NOT NULL ORDER BY id`;
  return statements
    .raw<[number, number, number | null, number | null, number, string, string]>(sql)
    .all()
    .map(([id, rule_id, event_id, run_id, timestamp, outcomes, pending]) => ({
      ...{ id, rule_id, event_id, run_id, timestamp },
      outcomes,
      pending,
    }));
}

function readExpectations(statements: Statements): ExpectationRow[] {
  const sql = `SELECT id, rule_id, key, armed_at, deadline, flow_id, run_id FROM expectations WHERE status = 'open' ORDER BY deadline`;
  return statements
    .raw<[number, number, string, number, number, number | null, number | null]>(sql)
    .all()
    .map(([id, rule_id, key, armed_at, deadline, flow_id, run_id]) => ({
      id,
      rule_id,
      key,
      armed_at,
      deadline,
      flow_id,
      run_id,
    }));
}

/** True when the rule has fired for the run. */
export function hasFired(statements: Statements, ruleId: number, runId: number): boolean {
  return statements.raw("SELECT 1 FROM fired WHERE run_id = ? AND rule_id = ?").get(runId, ruleId) !== undefined;
}

/** Length of the chain of rules that created or moved a run; 0 for none. */
export function chainOf(statements: Statements, runId: number): number {
  return statements.raw<[number]>("SELECT depth FROM chains WHERE run_id = ?").get(runId)?.[0] ?? 0;
}
