/**
 * What flow files import: flows, tasks, and the functions that user code calls inside a run.
 */

export { type Duration, parseDuration } from "./define/duration.ts";
export { type Flow, flow, type GivenParameters, type ParametersOf } from "./define/flow.ts";
export type { After, FlowOptions, WireFlowOptions } from "./define/flow-options.ts";
export type { FlowHooks, Hook, HookEvent, TaskHooks } from "./define/hooks.ts";
export { ParameterError } from "./define/parameters.ts";
export type { RetryOptions } from "./define/retry.ts";
export { type PathParameters, type RouteContext, type RouteHandler, type RouteOptions, route } from "./define/routes/route.ts";
export { type Expectation, type ExpectByOptions, expectBy, expectWithin } from "./define/rules/expect.ts";
export {
  type DataRule,
  type RuleContext,
  type RuleFunction,
  type RuleMatch,
  type RuleOptions,
  rule,
} from "./define/rules/rule.ts";
export type {
  CancelRunAction,
  EmailAction,
  RuleAction,
  RunFlowAction,
  ScheduleAction,
  SetStateAction,
  WebhookAction,
} from "./define/rules/rule-actions.ts";
export {
  type CronOptions,
  cron,
  type EveryOptions,
  every,
  rrule,
  type ScheduleDeclaration,
  type ScheduleOptions,
} from "./define/schedules.ts";
export * as Type from "./define/schema-types.ts";
export { type FileTarget, file, type Target } from "./define/target.ts";
export { type Task, type TaskOptions, task } from "./define/task.ts";
export { currentSignal as signal } from "./execution/active-run.ts";
export { Abort, Cancelled, Paused, TimedOut } from "./execution/failure.ts";
export type { TaskRun } from "./execution/task-run.ts";
export {
  type ArtifactOptions,
  artifact,
  type ImageOptions,
  type ProgressOptions,
  progress,
  type TableOptions,
} from "./run/artifact.ts";
export { type CurrentRun, run } from "./run/current-run.ts";
export { emit } from "./run/emit.ts";
export { waitForInput } from "./run/input.ts";
export { lease } from "./run/lease.ts";
export { type Log, log } from "./run/log.ts";
export { variable } from "./run/variable.ts";
export type { SetVariableOptions } from "./run/variable-store.ts";
export { HomeInUseError } from "./script/home-in-use-error.ts";
export { RunError } from "./script/run-error.ts";
