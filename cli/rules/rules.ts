/** `millrace rules ls | show | test | enable | disable`. */

import type { Expectation, Millrace, RuleAction, RuleFiring, RuleRow, RuleTest } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { counted, dateTime } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { show, type ViewOptions } from "../terminal/view.ts";

/** Firings shown with a rule. */
const FIRINGS_SHOWN = 5;

export async function listRules(options: ViewOptions): Promise<number> {
  const client = connect(options);
  return await show(client, options, {
    read: () => client.rules.list(),
    lines: (rules, out) => (rules.length > 0 ? renderRules(rules, out) : out.live ? ["There are no rules."] : []),
    messages: { kinds: ["rule.updated"] },
    changedBy: ({ event }) => event === "rule.updated",
  });
}

function renderRules(rules: readonly RuleRow[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: (rule) => String(rule.id), align: "right" },
      { head: "NAME", cell: (rule) => printable(rule.name), shrink: true },
      { head: "STATE", cell: (rule) => (rule.enabled ? "on" : "off"), style: (rule) => (rule.enabled ? "green" : "dim") },
      { head: "SOURCE", cell: (rule) => rule.source },
      { head: "WHEN", cell: (rule) => printable(whenText(rule)), shrink: true },
      { head: "DOES", cell: (rule) => printable((rule.do ?? []).map(actionText).join(", ")), shrink: true },
      { head: "FIRED", cell: (rule) => String(rule.fire_count), align: "right" },
      { head: "LAST", cell: (rule) => (rule.last_fired == null ? "never" : dateTime(rule.last_fired)) },
    ],
    rules,
    terminal,
  );
}

/** The condition of a rule, in one line. */
export function whenText({ when, unless, within, at }: RuleRow): string {
  const expected = unless == null ? "" : ` without ${(unless.events ?? []).join(", ")}`;
  const time = within == null ? "" : ` within ${within} s`;
  if (at != null) return `at ${at.cron}${expected}${time}`;
  const events = when?.events ?? [];
  const clauses = [
    events.length === 0 ? "every event" : events.join(", "),
    clause("of", when?.flows),
    clause("in", when?.states),
    clause("tagged", when?.tags),
    when?.project == null ? "" : `of project ${when.project}`,
  ];
  return `${clauses.filter((text) => text !== "").join(" ")}${expected}${time}`;
}

function clause(word: string, names: readonly string[] | null | undefined): string {
  return names == null || names.length === 0 ? "" : `${word} ${names.join(", ")}`;
}

function actionText({ kind, flow, url, to, state_type, callable }: RuleAction): string {
  const object = flow ?? url ?? state_type ?? callable ?? (to ?? []).join(", ");
  return object === "" ? kind : `${kind} ${object}`;
}

interface RuleDetails {
  rule: RuleRow;
  firings: RuleFiring[];
  expectations: Expectation[];
}

export async function showRule(text: string, options: ViewOptions): Promise<number> {
  const client = connect(options);
  const { id } = await findRule(client, text);
  return await show<RuleDetails>(client, options, {
    async read() {
      const [rule, firings, expectations] = await Promise.all([
        client.rules.get(id),
        client.rules.firings(id),
        client.rules.expectations(id),
      ]);
      return { rule, firings, expectations };
    },
    lines: renderDetails,
    messages: { kinds: ["rule.updated", "expectation.armed", "expectation.met", "expectation.lapsed"] },
    changedBy: ({ event, data }) =>
      (event === "rule.updated" && data.id === id) || (event.startsWith("expectation.") && "rule_id" in data),
  });
}

function renderDetails({ rule, firings, expectations }: RuleDetails, terminal: Terminal): string[] {
  const lines = [
    `Rule ${rule.id}  ${terminal.paint("bold", printable(rule.name))}  ${rule.enabled ? "on" : "off"}, from ${rule.source}`,
    `When  ${printable(whenText(rule))}`,
    ...(rule.do ?? []).map((action) => `Does  ${printable(JSON.stringify(said(action)))}`),
    `Once  ${rule.once}, at most ${rule.max_per_minute} a minute, rest of ${rule.cooldown_seconds} s`,
    `Fired ${counted(rule.fire_count, "time")}`,
  ];
  for (const { run_id, timestamp, outcomes } of firings.slice(0, FIRINGS_SHOWN)) {
    const run = run_id == null ? "" : `  run ${run_id}`;
    lines.push(`  ${dateTime(timestamp)}${run}  ${printable(outcomes.map(outcomeText).join(", "))}`);
  }
  for (const { key, deadline } of expectations) lines.push(`Expects ${key} until ${dateTime(deadline)}`);
  return lines;
}

/** The fields of an action that are set. */
function said(action: RuleAction): Record<string, unknown> {
  const empty = (value: unknown) => value == null || (typeof value === "object" && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(action).filter(([, value]) => !empty(value)));
}

function outcomeText(outcome: Record<string, unknown>): string {
  const { kind, status, error } = outcome;
  return `${String(kind)} ${String(status)}${error === undefined ? "" : `: ${String(error)}`}`;
}

export async function testRule(text: string, options: ConnectionOptions): Promise<number> {
  const client = connect(options);
  const test = await client.rules.test((await findRule(client, text)).id);
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(test);
  else for (const line of renderTest(test)) out.line(line);
  return test.actions.some((action) => "error" in action) ? EXIT.runFailed : EXIT.ok;
}

function renderTest({ event, actions, note }: RuleTest): string[] {
  const about = event === null ? "No event matches" : `Against ${String(event["name"])} (event ${String(event["id"])})`;
  return [
    note === undefined ? `${about}:` : `${about}: ${note}`,
    ...actions.map(({ kind, rendered, error }) =>
      error === undefined
        ? `  ${String(kind)}  ${printable(JSON.stringify(said(rendered as RuleAction)))}`
        : `  ${String(kind)}  fails: ${printable(String(error))}`,
    ),
  ];
}

export async function switchRule(text: string, enabled: boolean, options: ConnectionOptions): Promise<number> {
  const client = connect(options);
  const rule = await client.rules.patch((await findRule(client, text)).id, { enabled });
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(rule);
  else out.line(`Rule ${rule.id} (${printable(rule.name)}) is ${rule.enabled ? "on" : "off"}.`);
  return EXIT.ok;
}

/** A rule by its id or its name. */
async function findRule(client: Millrace, text: string): Promise<RuleRow> {
  if (/^\d+$/.test(text)) return await client.rules.get(Number(text));
  const rules = await client.rules.list();
  const [only, ...others] = rules.filter(({ name }) => name === text);
  if (only === undefined) {
    const known = rules.map(({ name }) => name).slice(0, 8);
    throw new CommandError(`there is no rule "${text}"`, known.length === 0 ? null : `There are: ${known.join(", ")}.`);
  }
  if (others.length > 0) {
    const ids = [only, ...others].map(({ id }) => id).join(", ");
    throw new CommandError(`several rules are called "${text}"`, `Name one by its id: ${ids}.`);
  }
  return only;
}
