/** Information about the server: health, information, settings and counts. */
import Type, { type Static } from "typebox";
import { CLOCK_SCHEDULES_SHOWN, CODE_PROBLEMS_MAX } from "../limits.ts";
import {
  Amount,
  about,
  Count,
  Double,
  Int32,
  Int64,
  mapOf,
  namedMapOf,
  nullable,
  optional,
  Strings,
  sent,
  Timestamp,
} from "../values/scalar.ts";

export const Health = Type.Object({ ok: Type.Boolean() });
export type Health = Static<typeof Health>;

/** Whether the server takes work. */
export const Ready = Type.Object(
  { ready: Type.Boolean(), reason: nullable(Type.String({ description: "Why not: starting, the store, stopping" })) },
  { title: "Ready" },
);
export type Ready = Static<typeof Ready>;

/** An engine process that has polled for work and has not left. */
export const EngineInfo = Type.Object(
  {
    id: Type.String(),
    pid: Int32,
    module: Type.String(),
    source_dir: Type.String(),
    isolated: Type.Boolean(),
    nice: Int32,
    runs_done: Int64,
    current_run: nullable(Int64),
    adopted: Type.Boolean({ description: "Not started by this server" }),
    exit_requested: Type.Boolean(),
    uptime_secs: Double,
  },
  { title: "EngineInfo" },
);
export type EngineInfo = Static<typeof EngineInfo>;

/** An actor of the server with its figures since the start of its thread. */
export const ActorInfo = Type.Object(
  {
    name: Type.String(),
    state: Type.Unsafe<"starting" | "running" | "stopping" | "stopped" | "crashed">({
      type: "string",
      enum: ["starting", "running", "stopping", "stopped", "crashed"],
    }),
    mailbox_depth: Count,
    handled: Int64,
    restarts: Count,
    dropped: Type.Integer({ minimum: 0, description: "Messages that a full mailbox rejected" }),
    step_us: Type.Integer({ minimum: 0, description: "Total time of all steps, microseconds" }),
    step_max_us: Type.Integer({ minimum: 0, description: "The longest step, microseconds" }),
    stalls: Type.Integer({ minimum: 0, description: "How often the actor blocked its thread for more than 250 ms" }),
    last_stall: nullable(Type.String({ description: "The step of the last stall, and its duration" })),
    last_error: nullable(Type.String()),
  },
  { title: "ActorInfo" },
);
export type ActorInfo = Static<typeof ActorInfo>;

/**
 * The clock of the server's machine was set by more than an hour, or schedules have decided fires while the clock was ahead.
 */
export const ClockProblem = Type.Object(
  {
    message: Type.String({ description: "What has happened, and the command that resolves it" }),
    since: nullable(about("When the step was noticed, by the clock since then; null when it is accepted", Timestamp)),
    step_secs: nullable(about("How far the clock was set, backwards below 0", Double)),
    retention_waits_secs: nullable(about("Time since boot, sleep included, until the step counts as accepted", Double)),
    schedules: Type.Array(
      Type.Object({ id: Int64, flow: Type.String(), project: Type.String(), next_fire: nullable(Timestamp) }),
      {
        description: `Schedules that stay silent because they decided fires while the clock was ahead; at most ${CLOCK_SCHEDULES_SHOWN}`,
      },
    ),
    schedules_count: Count,
    rules_count: Type.Integer({ minimum: 0, description: "Rules with a clock that stay silent for the same reason" }),
  },
  { title: "ClockProblem" },
);
export type ClockProblem = Static<typeof ClockProblem>;

/** Answer of POST /api/clock/accept: how many silent schedules and rules continue from now. */
export const ClockAccepted = Type.Object({ schedules: Count, rules: Count }, { title: "ClockAccepted" });
export type ClockAccepted = Static<typeof ClockAccepted>;

/** The server: version, addresses and condition. */
export const ServerInfo = sent(
  Type.Object(
    {
      version: Type.String(),
      home: Type.String(),
      pid: Int32,
      started_at: Timestamp,
      url: Type.String(),
      served_dir: Type.Optional(nullable(Type.String())),
      engines: Type.Array(EngineInfo),
      queued: Int64,
      stream_seq: Int64,
      store_problem: Type.Optional(
        nullable(Type.Object({ message: Type.String(), since: Timestamp }, { description: "Why the store takes no writes" })),
      ),
      clock_problem: Type.Optional(nullable(ClockProblem)),
    },
    { title: "ServerInfo" },
  ),
);
export type ServerInfo = Static<typeof ServerInfo>;

/** A route of user code. */
export const RouteSpec = sent(
  Type.Object(
    { id: Int64, method: Type.String(), path: Type.String(), source: Type.Optional(nullable(Type.String())) },
    { title: "RouteSpec" },
  ),
);
export type RouteSpec = Static<typeof RouteSpec>;

/** A problem in the served directory: a file, or a part of one, that does not work as its author intended. */
export const CodeProblem = Type.Object(
  {
    module: Type.String({ description: "Path of the file below served_dir" }),
    kind: Type.Unsafe<"file" | "part" | "warning">({
      type: "string",
      enum: ["file", "part", "warning"],
      description:
        "file: nothing in the file can be used; part: one flow, schedule, rule or route of the file cannot be used; warning: all of the file is used, but something is probably a mistake",
    }),
    error: Type.String({ description: "The error; lines after the first give details" }),
  },
  { title: "CodeProblem" },
);
export type CodeProblem = Static<typeof CodeProblem>;

/** The current problems of the served directory; replaces every earlier list. */
export interface CodeProblems {
  kind: "CodeProblems";
  problems: CodeProblem[];
}

/** Total of a resource and the amount in use. */
export const ResourceUse = Type.Object({ total: Double, used: Double });
export type ResourceUse = Static<typeof ResourceUse>;

/** Served code was reloaded because the content of files changed. */
export const CodeReloaded = Type.Object(
  {
    at: Timestamp,
    files: Type.Integer({ minimum: 1, description: "Files whose content has changed" }),
    names: Type.Array(Type.String(), { description: "The first of these files, as paths relative to the served directory" }),
    flows: Type.Integer({ minimum: 0, description: "Flows whose modules import one of these files, or are one" }),
  },
  { title: "CodeReloaded" },
);
export type CodeReloaded = Static<typeof CodeReloaded>;

/** The settings in effect. */
export const Settings = sent(
  Type.Object(
    {
      host: Type.String(),
      port: Int32,
      pid: Int32,
      version: Type.String(),
      home: Type.String(),
      served_dir: Type.Optional(nullable(Type.String())),
      database_path: Type.String(),
      database_bytes: Int64,
      wal_bytes: Int64,
      resources: mapOf(ResourceUse),
      max_engines: Int64,
      engine_max_runs: Int32,
      crash_retries_default: Int64,
      catchup_default: Type.String(),
      retain_days: Int64,
      email_configured: Type.Boolean(),
      secret_key_present: Type.Boolean(),
      secret_key_missing: Type.Boolean(),
      custom_routes: Type.Array(RouteSpec),
      code_problems: Type.Optional(
        Type.Array(CodeProblem, {
          description: `Problems in the served directory, files that do not load first; at most ${CODE_PROBLEMS_MAX}`,
        }),
      ),
      code_reloaded: Type.Optional(nullable(CodeReloaded)),
      engine_saturation_risk: Type.Boolean(),
      saturation_flows: Strings,
      saturation_reason: Type.Optional(nullable(Type.String())),
      changed_settings: Type.Optional(
        Type.Array(Type.String(), {
          description:
            "Settings with a value in the store, because they were changed at run time: retain_days, crash_retries, resources.NAME. The others have the value of millrace.toml or the default. Empty for a store in SQLite, where millrace.toml has the changes too",
        }),
      ),
    },
    { title: "Settings" },
  ),
);
export type Settings = Static<typeof Settings>;

/** Body of PATCH /api/settings; absent and null keep a value, `resources` merges by name. */
export const SettingsPatch = Type.Object(
  {
    crash_retries: optional(Count),
    resources: optional(namedMapOf(Amount)),
    retain_days: optional(Count),
  },
  { title: "SettingsPatch" },
);
export type SettingsPatch = Static<typeof SettingsPatch>;

const byType = mapOf(Int64);

/** Number of runs and task runs, by state type. */
export const Counts = Type.Object({ runs: byType, flows: mapOf(byType), task_runs: byType, active: Int64 }, { title: "Counts" });
export type Counts = Static<typeof Counts>;

/** Query of GET /api/counts. */
export const CountsQuery = Type.Object({ project: Type.Optional(Type.String()) });
export type CountsQuery = Static<typeof CountsQuery>;

const filterList = (description: string) => Type.Unsafe<string[]>({ type: "string", format: "comma-list", description });

/** Query of GET /api/stream: the last stream number seen, and a filter; its parts combine with AND. */
export const StreamQuery = Type.Object({
  since: Type.Optional(Int64),
  run_id: Type.Optional(about("Only messages about this run: the run, its task runs, log, artifacts, events", Int64)),
  flow_id: Type.Optional(about("Only messages about this flow, its schedules, backfills and runs", Int64)),
  project: Type.Optional(about("Only messages about the flows of this project and their runs", Type.String())),
  tags: Type.Optional(filterList("Only messages about runs with all of these tags, separated by commas")),
  parameters: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string | number | boolean>>>({
      type: "object",
      format: "named-values",
      additionalProperties: { type: "string" },
      description: "Only messages about runs with these parameters, a field each, such as parameters.customer=7",
    }),
  ),
  kinds: Type.Optional(filterList("Only these messages, such as run.updated, separated by commas")),
  names: Type.Optional(
    filterList("Of event.created only events with these names, or prefixes ending in *, separated by commas; other kinds pass"),
  ),
  snapshot: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1,
      description: "1, with run_id: the run as it is now comes after hello and after each resync, as run.updated without an id",
    }),
  ),
});
export type StreamQuery = Static<typeof StreamQuery>;
