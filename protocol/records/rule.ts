/** Rules: match, actions and guards; firings and expectations. */
import Type, { type Static } from "typebox";
import { EXPECTATIONS_PAGE, PARAMETERS_BYTES_MAX, RULE_ACTIONS_MAX, RULE_BYTES_MAX } from "../limits.ts";
import { pageLimit } from "../routes/page.ts";
import {
  AnyJson,
  about,
  Double,
  ExpressionText,
  FreeMap,
  Id,
  Int64,
  LongText,
  Names,
  NameText,
  nullable,
  optional,
  PathText,
  sent,
  sizedJson,
  Timestamp,
} from "../values/scalar.ts";

/** Which events a rule matches; every clause that is set must match. */
export const RuleMatch = Type.Object(
  {
    events: Type.Optional(about("Names, or prefixes ending in *", Names)),
    flows: Type.Optional(about("Names of flows", Names)),
    project: optional(NameText),
    states: Type.Optional(about("State types or sub-state names", Names)),
    tags: Type.Optional(about("The run has one of them", Names)),
  },
  { title: "RuleMatch" },
);
export type RuleMatch = Static<typeof RuleMatch>;

/** Clock arming: a five-field cron expression and an IANA zone. */
export const RuleClock = Type.Object({ cron: ExpressionText, tz: optional(NameText) }, { title: "RuleClock" });
export type RuleClock = Static<typeof RuleClock>;

export const ACTION_KINDS = [
  "run_flow",
  "cancel_run",
  "set_state",
  "pause_schedule",
  "resume_schedule",
  "webhook",
  "email",
  "call",
] as const;
export type ActionKind = (typeof ACTION_KINDS)[number];

/** One action; its kind determines the required fields. */
export const RuleAction = Type.Object(
  {
    kind: Type.Unsafe<ActionKind>({ type: "string", enum: [...ACTION_KINDS] }),
    flow: optional(about("run_flow, pause_schedule, resume_schedule: name, or project/name", PathText)),
    parameters: Type.Optional(sizedJson(PARAMETERS_BYTES_MAX, FreeMap, "run_flow; texts are templates")),
    state_type: optional(about("set_state", NameText)),
    message: optional(about("set_state; a template", LongText)),
    schedule_id: optional(about("pause_schedule, resume_schedule; without it all of the flow", Int64)),
    url: optional(about("webhook; a template", LongText)),
    method: optional(about("webhook; POST when left out", NameText)),
    headers: Type.Optional(sizedJson(RULE_BYTES_MAX, FreeMap, "webhook; values are templates")),
    body: optional(
      sizedJson(RULE_BYTES_MAX, AnyJson, "webhook, email; texts are templates. A webhook without it sends the event"),
    ),
    to: Type.Optional(about("email", Names)),
    subject: optional(about("email; a template", LongText)),
    callable: optional(about("call: name of the function of a rule in code", NameText)),
  },
  { title: "RuleAction" },
);
export type RuleAction = Static<typeof RuleAction>;

const guards = {
  once: Type.Unsafe<"per_run" | "never">({
    type: "string",
    enum: ["per_run", "never"],
    description: "At most once per run, or on every event that matches",
    default: "per_run",
  }),
  cooldown_seconds: about("Rest after a firing", Double),
  max_per_minute: Int64,
  allow_self: about("Fires on events of runs that it created, too", Type.Boolean()),
};

const proactive = {
  unless: optional(RuleMatch),
  within: optional(about("Seconds after the event in which `unless` is expected, or that a clock looks back", Double)),
  at: optional(RuleClock),
};

const spec = {
  when: Type.Optional(RuleMatch),
  do: Type.Optional(Type.Array(RuleAction, { maxItems: RULE_ACTIONS_MAX })),
  once: Type.Optional(guards.once),
  cooldown_seconds: Type.Optional(guards.cooldown_seconds),
  max_per_minute: Type.Optional(guards.max_per_minute),
  allow_self: Type.Optional(guards.allow_self),
  ...proactive,
};

/** The same in a patch, where null keeps a field. */
const specPatch = {
  when: optional(RuleMatch),
  do: optional(Type.Array(RuleAction, { maxItems: RULE_ACTIONS_MAX })),
  once: optional(guards.once),
  cooldown_seconds: optional(guards.cooldown_seconds),
  max_per_minute: optional(guards.max_per_minute),
  allow_self: optional(guards.allow_self),
  ...proactive,
};

/** Header of webhooks: the number of rules in the chain so far. A request that carries the header is part of the chain. */
export const RULE_DEPTH_HEADER = "millrace-rule-depth";

/** A rule without its identity. */
export const RuleSpec = Type.Object(spec, { title: "RuleSpec" });
export type RuleSpec = Static<typeof RuleSpec>;

/** Body of POST /api/rules. */
export const RuleBody = Type.Object({ name: NameText, enabled: Type.Optional(Type.Boolean()), ...spec }, { title: "RuleBody" });
export type RuleBody = Static<typeof RuleBody>;

/** Body of PATCH /api/rules/{id}; sent fields replace the stored ones. */
export const RulePatch = Type.Object(
  { name: optional(NameText), enabled: optional(Type.Boolean()), ...specPatch },
  { title: "RulePatch" },
);
export type RulePatch = Static<typeof RulePatch>;

/** A stored rule. `unless`, `within` and `at` are absent if not set. */
export const RuleRow = Type.Object(
  {
    id: Int64,
    external_id: Id,
    name: Type.String(),
    enabled: Type.Boolean(),
    source: Type.String({ description: "ui or code" }),
    module: Type.Optional(nullable(Type.String())),
    ...spec,
    fire_count: Int64,
    last_fired: Type.Optional(nullable(Timestamp)),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "RuleRow" },
);
export type RuleRow = Static<typeof RuleRow>;

/** One firing of a rule with the outcome of its actions. */
export const RuleFiring = sent(
  Type.Object(
    {
      id: Int64,
      rule_id: Int64,
      event_id: Type.Optional(nullable(Int64)),
      run_id: Type.Optional(nullable(Int64)),
      timestamp: Timestamp,
      outcomes: Type.Array(FreeMap),
    },
    { title: "RuleFiring" },
  ),
);
export type RuleFiring = Static<typeof RuleFiring>;

/** An event that a proactive rule waits for. */
export const Expectation = sent(
  Type.Object(
    {
      id: Int64,
      rule_id: Int64,
      key: Type.String({ description: "run:<id> or flow:<id>" }),
      run_id: Type.Optional(nullable(Int64)),
      flow_id: Type.Optional(nullable(Int64)),
      armed_at: Timestamp,
      deadline: Timestamp,
      status: Type.Unsafe<"open" | "met" | "lapsed" | "cancelled">({
        type: "string",
        enum: ["open", "met", "lapsed", "cancelled"],
      }),
    },
    { title: "Expectation" },
  ),
);
export type Expectation = Static<typeof Expectation>;

/** Query of GET /api/rules/{id}/expectations. */
export const ExpectationsQuery = Type.Object({ open: Type.Boolean({ default: true }), limit: pageLimit(EXPECTATIONS_PAGE) });
export type ExpectationsQuery = Static<typeof ExpectationsQuery>;

/** Query of POST /api/rules/{id}/test. */
export const RuleTestQuery = Type.Object({
  event_id: Type.Optional(about("Try this event instead of the latest that matches", Int64)),
});
export type RuleTestQuery = Static<typeof RuleTestQuery>;

/** Answer of POST /api/rules/{id}/test: the rendered actions; nothing was executed. */
export const RuleTest = Type.Object({
  actions: Type.Array(FreeMap),
  event: nullable(FreeMap),
  matches: Type.Boolean({ description: "The rule matches the event" }),
  note: Type.Optional(Type.String()),
});
export type RuleTest = Static<typeof RuleTest>;
