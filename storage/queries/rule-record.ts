/** Rules, their firings and expectations (interface: "Rules"). */

import { EXPECTATIONS_PAGE, FIRINGS_COUNT_MAX } from "#protocol/limits";
import type { FullSpec } from "#protocol/records/rule-spec";
import { parseJson } from "#protocol/values/json";
import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { flag, quoted } from "./json.ts";

type RuleRow = [
  id: number,
  external_id: Uint8Array,
  name: string,
  enabled: number,
  source: string,
  module: string | null,
  spec: string,
  fire_count: number,
  last_fired: number | null,
  created_at: number,
  updated_at: number,
];

const SELECT_RULE = `SELECT id, external_id, name, enabled, source, module, spec, fire_count, last_fired, created_at, updated_at
  FROM rules`;

function render(row: RuleRow): string {
  const [id, externalId, name, enabled, source, module, spec, fires, last, created, updated] = row;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","name":${quoted(name)},"enabled":${flag(enabled)},` +
    `"source":${quoted(source)},"module":${quoted(module)},${specFields(spec)},` +
    `"fire_count":${fires},"last_fired":${last},"created_at":${created},"updated_at":${updated}}`
  );
}

/** The fields of the spec; the fields of a proactive rule are left out where unset. */
function specFields(text: string): string {
  const { unless, within, at, ...rest } = parseJson(text) as FullSpec;
  const proactive = Object.entries({ unless, within, at }).filter(([, value]) => value !== null);
  return JSON.stringify({ ...rest, ...Object.fromEntries(proactive) }).slice(1, -1);
}

/** The rule as JSON text, or null for an unknown id. */
export function ruleById(statements: Statements, id: number): string | null {
  const row = statements.raw<RuleRow>(`${SELECT_RULE} WHERE id = ?`).get(id);
  return row === undefined ? null : render(row);
}

export interface RulesArguments extends Continued {
  after?: number;
}

/** A part of all rules, by id. */
export function rules(statements: Statements, args: RulesArguments): AnswerPart<RulesArguments> {
  const rows = statements.raw<RuleRow>(`${SELECT_RULE} WHERE id > ? ORDER BY id`).iterate(args.after ?? 0);
  return arrayPart(args, rows, render, ([after]) => ({ after }));
}

export interface FiringsArguments extends Continued {
  id: number;
  before?: number;
  limit?: number;
}

type FiringRow = [
  id: number,
  rule_id: number,
  event_id: number | null,
  run_id: number | null,
  timestamp: number,
  outcomes: string,
];

/** A part of the completed firings of a rule, newest first; empty for a deleted rule. */
export function firingsOfRule(statements: Statements, args: FiringsArguments): AnswerPart<FiringsArguments> {
  const { id: rule, before = Number.MAX_SAFE_INTEGER, limit = FIRINGS_COUNT_MAX } = args;
  const sql = `SELECT id, rule_id, event_id, run_id, timestamp, outcomes FROM firings
    WHERE rule_id = ? AND pending IS NULL AND id < ? AND EXISTS (SELECT 1 FROM rules WHERE rules.id = firings.rule_id)
    ORDER BY id DESC LIMIT ?`;
  const rows = statements.raw<FiringRow>(sql).iterate(rule, before, limit);
  return arrayPart(args, rows, renderFiring, ([last], count) => ({ before: last, limit: limit - count }));
}

function renderFiring([id, rule, event, run, timestamp, outcomes]: FiringRow): string {
  return `{"id":${id},"rule_id":${rule},"event_id":${event},"run_id":${run},"timestamp":${timestamp},"outcomes":${outcomes}}`;
}

/** Expectations of a rule, newest first, or null for an unknown rule. */
export function expectationsOfRule(statements: Statements, rule: number, open: boolean, limit: number): string | null {
  if (statements.raw("SELECT 1 FROM rules WHERE id = ?").get(rule) === undefined) return null;
  const status = open ? "AND status = 'open'" : "";
  const sql = `SELECT id, rule_id, key, run_id, flow_id, armed_at, deadline, status FROM expectations
    WHERE rule_id = ? ${status} ORDER BY id DESC LIMIT ?`;
  const rows = statements
    .raw<[number, number, string, number | null, number | null, number, number, string]>(sql)
    .all(rule, Math.min(limit, EXPECTATIONS_PAGE[1]))
    .map(([id, ruleId, key, run_id, flow_id, armed_at, deadline, state]) =>
      JSON.stringify({ id, rule_id: ruleId, key, run_id, flow_id, armed_at, deadline, status: state }),
    );
  return `[${rows.join(",")}]`;
}

/** The data of stream messages expectation.armed and expectation.met. */
export function expectationMessage(statements: Statements, id: number, armed: boolean): string | null {
  const sql = "SELECT id, rule_id, key, run_id, deadline FROM expectations WHERE id = ?";
  const row = statements.raw<[number, number, string, number | null, number]>(sql).get(id);
  if (row === undefined) return null;
  const [expectation, rule_id, key, run_id, deadline] = row;
  return JSON.stringify({ id: expectation, rule_id, key, ...(armed ? { run_id, deadline } : {}) });
}

/** The data of stream message expectation.lapsed, from the event that records the lapse. */
export function lapseMessage(statements: Statements, eventId: number): string | null {
  const row = statements.raw<[string | null]>("SELECT payload FROM events WHERE id = ?").get(eventId);
  if (row === undefined) return null;
  const payload = JSON.parse(row[0] ?? "{}") as Record<string, unknown>;
  return JSON.stringify({ id: payload["expectation_id"] ?? null, rule_id: payload["rule_id"], event_id: eventId });
}
