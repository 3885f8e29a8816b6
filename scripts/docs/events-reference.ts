/** docs/reference/events.md: the catalogue of events, the states, and the messages of the stream. */
import { EVENTS, RESERVED_PREFIXES, STATES } from "#protocol/vocabulary";
import type { StreamData } from "#sdk/client/index";
import { code, page, table } from "./markdown.ts";

/** The content of each stream message, and when it is sent. */
const MESSAGES: Readonly<Record<keyof StreamData, readonly [data: string, when: string]>> = {
  hello: ["`latest`, `since`", "The connection opens, before anything else"],
  resync: ["`latest`", "Messages were lost for good: fetch everything that is shown again"],
  "run.updated": ["the run, or `id` and `deleted`", "A run was created, changed its state or was deleted"],
  "task_run.updated": ["the task run", "A task run was created or changed its state"],
  "log.appended": ["`run_id`, `last_id`, `count`", "New log lines arrived"],
  "event.created": ["the event", "Any event was recorded"],
  "flow.registered": ["the flow", "A flow was registered, or registered again"],
  "rule.updated": ["the rule, or `id` and `deleted`", "A rule was created, changed, fired or deleted"],
  "variable.updated": ["the variable, or `name` and `deleted`", "A variable was set or removed"],
  "artifact.updated": ["the artifact", "An artifact was published or updated"],
  "schedule.updated": ["the schedule, or `id` and `deleted`", "A schedule was created, changed, paused, resumed or deleted"],
  "backfill.created": ["`backfill_id`, `flow_id`, `count`", "A backfill created its runs"],
  "backfill.updated": ["`backfill_id`, `cancelled`", "A backfill was cancelled"],
  "expectation.armed": ["`id`, `rule_id`, `key`, `run_id`, `deadline`", "A rule waits for an event"],
  "expectation.met": ["`id`, `rule_id`, `key`", "The expected event arrived in time"],
  "expectation.lapsed": ["`id`, `rule_id`, `event_id`", "The deadline passed"],
};

const KINDS: Readonly<Record<string, string>> = {
  run: "Runs",
  task_run: "Task runs",
  flow: "Flows",
  schedule: "Schedules",
  resource: "Resources",
  rule: "Rules",
};

export function eventsReference(): string {
  return page(
    "# Events, states and stream messages",
    `An event records a change, in the order of commits. Rules match on events, \`GET /api/events\` lists them, the stream
delivers them as \`event.created\`. The machine-readable form is \`GET /api/vocabulary\`.

Names under ${RESERVED_PREFIXES.map((prefix) => code(`${prefix}*`)).join(", ")}
are reserved for the server; flows may use any other name (\`emit\` of the SDK, \`POST /api/events\`). A rule matches a name, or a prefix
that ends in \`*\`.`,
    ...Object.entries(KINDS).flatMap(([kind, title]) => [`## ${title}`, eventsOf(kind)]),
    "## States",
    `A state has a type and a name. The name is the type, one of the sub-states below, or a text defined by the flow. A filter or rule
on a type matches its sub-states too.`,
    table(
      ["Type", "Sub-states"],
      STATES.filter(({ is_sub_state }) => !is_sub_state).map(({ name }) => [
        code(name),
        STATES.filter(({ is_sub_state, state_type }) => is_sub_state && state_type === name)
          .map((state) => code(state.name))
          .join(", "),
      ]),
    ),
    "## Stream messages",
    `\`GET /api/stream\` sends server-sent events. The \`id\` of each is its number; a reader that reconnects with \`?since=NUMBER\` (or
\`Last-Event-ID\`) gets the missed messages, or \`resync\`. Stream messages are not events: they are not stored, and rules do not see them.`,
    table(
      ["Message", "Data", "Sent when"],
      Object.entries(MESSAGES).map(([name, [data, when]]) => [code(name), data, when]),
    ),
  );
}

/** Fields common to all events of a kind are described once. */
function eventsOf(kind: string): string {
  const events = EVENTS.filter(({ resource }) => resource === kind);
  const all: readonly string[][] = events.map(({ payload_fields }) => [...payload_fields]);
  const common = events.length > 2 ? (all[0] ?? []).filter((field) => all.every((fields) => fields.includes(field))) : [];
  const told = common.length > 2;
  const rows = events.map(({ name, when, payload_fields }) => [
    code(name),
    when,
    payload_fields
      .filter((field) => !told || !common.includes(field))
      .map(code)
      .join(", "),
  ]);
  const each = told ? `Payload of each: ${common.map(code).join(", ")}.\n\n` : "";
  return `${each}${table(["Event", "When", told ? "Further payload" : "Payload"], rows)}`;
}
