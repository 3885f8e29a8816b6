import type { StateType } from "#protocol/records/state";
import { upstreamValue } from "#protocol/values/upstream-value";
import { noteUnknownOptions, noteWarning, type OptionNames } from "./declaration-notes.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { FLOW_HOOK_NAMES, type FlowHooks, hookedStates } from "./hooks.ts";
import { checkRetryOptions, RETRY_NAMES, type RetryOptions } from "./retry.ts";
import type { ScheduleDeclaration } from "./schedules.ts";

/** Flows that a flow runs after. */
export interface After {
  /** Names of the upstream flows of the same project. */
  flows: readonly string[];
  /** Parameter that identifies a batch: one run per value, once every upstream completed a run for it. */
  key?: string;
  /**
   * Parameters of the run. A text that is exactly "{{ run.parameters.day }}" (any parameter), "{{ run.id }}", "{{ run.name }}" or
   * "{{ run.external_id }}" is replaced by that value of the upstream run; other texts stay as they are.
   */
  parameters?: Record<string, unknown>;
}

/** Options of `flow`. */
export interface FlowOptions<Schema extends object = object> extends RetryOptions {
  /** A typebox schema, one of zod, valibot, arktype or another Standard Schema, or any JSON Schema of an object. Default: the flow takes no parameters. */
  parameters?: Schema;
  /** Default: the base name of the served directory. */
  project?: string;
  /** Text for people, shown with the flow. */
  description?: string;
  /** The group the flow is listed under. Default: its project. */
  group?: string;
  /** Tags of every run of the flow. */
  tags?: readonly string[];
  /** Time limit of one attempt, counted from Running; the run then ends as TimedOut, without a retry. */
  timeout?: Duration;
  /** Amounts of named resources that a run holds while it executes. */
  resources?: Record<string, number>;
  /** How many runs of this flow may execute at once. */
  maxConcurrent?: number;
  /** What happens to a run created while maxConcurrent runs are under way. Default "enqueue". */
  onOverlap?: "enqueue" | "skip" | "cancel_new";
  /** Higher runs first; a negative priority also lowers the engine's process priority on Unix. Default 0. */
  priority?: number;
  /**
   * Stores the results of the tasks of a run. When the run continues after a wait, a crash or a retry, its function is called
   * from the top again, and completed tasks return their stored results. Needed for waits in which the run leaves its engine.
   * Default false.
   */
  durable?: boolean;
  /** Gives each run an engine process of its own. */
  isolated?: boolean;
  /**
   * While a run executes, its engine executes no other run. Default: true for flows whose runs are never repeated after a crash
   * (`crashRetries: 0`), because no other run may end their engine; false for others, which share engines while they wait.
   */
  exclusive?: boolean;
  /** How often a run whose engine died is run again. Default: the server's setting. */
  crashRetries?: number;
  /** Pauses the flow's schedules for `pause` after `failures` failed runs within `within`. */
  disableAfter?: { failures: number; within: Duration; pause: Duration };
  /** Flows whose completed runs create a run of this flow: names, or names with a key and parameters. */
  after?: string | readonly string[] | After;
  /** When the server creates runs of the flow: cron(), every(), rrule(). */
  schedules?: readonly ScheduleDeclaration[];
  /** Called once with all values of a backfill; the values it returns are already done and get no run. */
  bulkComplete?: (values: readonly string[]) => readonly string[] | Promise<readonly string[]>;
  /** Output of the flow and its child processes becomes log lines of the run. Default true. */
  logPrints?: boolean;
  /** Functions that are called when a run changes its state. */
  hooks?: FlowHooks;
}

const NAMES: OptionNames<FlowOptions> = {
  ...RETRY_NAMES,
  ...{ parameters: true, project: true, description: true, group: true, tags: true, timeout: true, resources: true },
  ...{ maxConcurrent: true, onOverlap: true, priority: true, durable: true, isolated: true, exclusive: true },
  ...{ crashRetries: true },
  ...{ disableAfter: true, after: true, schedules: true, bulkComplete: true, logPrints: true, hooks: true },
};

/** Notes options of a flow that have no effect. */
export function noteFlowOptions(flow: string, options: FlowOptions): void {
  const owner = `flow "${flow}"`;
  noteUnknownOptions(owner, options, NAMES);
  noteUnknownOptions(`hooks of ${owner}`, options.hooks, FLOW_HOOK_NAMES);
  noteUnknownOptions(`disableAfter of ${owner}`, options.disableAfter, { failures: true, within: true, pause: true });
  if (typeof options.after !== "object" || !("flows" in options.after)) return;
  noteUnknownOptions(`after of ${owner}`, options.after, { flows: true, key: true, parameters: true });
  for (const [name, value] of Object.entries(options.after.parameters ?? {}))
    if (typeof value === "string" && value.includes("{{") && upstreamValue(value) === null)
      noteWarning(
        `after of ${owner} passes the parameter "${name}" on as the text ${JSON.stringify(value)}; only a text that is exactly one of ` +
          "{{ run.parameters.<name> }}, {{ run.id }}, {{ run.name }}, {{ run.external_id }} is filled in",
      );
}

/** FlowOptions in the wire form (interface: FlowOptions); every field of the interface is always sent. */
export type WireFlowOptions = {
  after: { flow: string; flows: string[]; key: string | null; parameters: Record<string, unknown> } | null;
  crash_retries: number | null;
  disable_after: [number, number, number] | null;
  /** Left out where it is false. */
  durable?: true;
  has_bulk_complete: boolean;
  has_crash_hooks: boolean;
  /** Left out where the flow does not say it. */
  exclusive?: boolean;
  /** State types for which the flow has a hook. */
  hooks: StateType[];
  isolated: boolean;
  log_prints: boolean;
  max_concurrent: number | null;
  on_overlap: string;
  priority: number;
  resources: Record<string, number>;
  retries: number;
  schedules: object[];
  timeout_seconds: number | null;
};

/**
 * The wire form of a flow's options.
 * @throws RangeError for durations and counts out of range.
 */
export function wireOptions(options: FlowOptions): WireFlowOptions {
  checkRetryOptions(options);
  return {
    after: wireAfter(options.after),
    crash_retries: options.crashRetries ?? null,
    disable_after: wireDisableAfter(options.disableAfter),
    ...(options.durable === true ? { durable: true } : {}),
    has_bulk_complete: options.bulkComplete !== undefined,
    has_crash_hooks: options.hooks?.onCrash !== undefined,
    ...(options.exclusive === undefined ? {} : { exclusive: options.exclusive }),
    hooks: hookedStates(options.hooks),
    isolated: options.isolated ?? false,
    log_prints: options.logPrints ?? true,
    max_concurrent: options.maxConcurrent ?? null,
    on_overlap: options.onOverlap ?? "enqueue",
    priority: options.priority ?? 0,
    resources: { ...options.resources },
    retries: options.retries ?? 0,
    schedules: (options.schedules ?? []).map(({ wire }) => wire),
    timeout_seconds: options.timeout === undefined ? null : parseDuration(options.timeout),
  };
}

function wireAfter(after: FlowOptions["after"]): WireFlowOptions["after"] {
  if (after === undefined) return null;
  const spec: After = typeof after === "string" ? { flows: [after] } : "flows" in after ? after : { flows: after };
  const [flow] = spec.flows;
  if (flow === undefined) throw new RangeError("after names at least one flow");
  return { flow, flows: [...spec.flows], key: spec.key ?? null, parameters: { ...spec.parameters } };
}

function wireDisableAfter(disableAfter: FlowOptions["disableAfter"]): WireFlowOptions["disable_after"] {
  if (disableAfter === undefined) return null;
  const { failures, within, pause } = disableAfter;
  return [failures, parseDuration(within), parseDuration(pause)];
}
