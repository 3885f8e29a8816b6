/**
 * What flow files import: flows, tasks, and the functions that user code calls inside a run.
 */

export { currentSignal as signal } from "./active-run.ts";
export {
  type ArtifactOptions,
  artifact,
  type ImageOptions,
  type ProgressOptions,
  progress,
  type TableOptions,
} from "./artifact.ts";
export { type CurrentRun, run } from "./current-run.ts";
export { type Duration, parseDuration } from "./duration.ts";
export { emit } from "./emit.ts";
export { type Expectation, type ExpectByOptions, expectBy, expectWithin } from "./expect.ts";
export { Abort, Cancelled, Paused, TimedOut } from "./failure.ts";
export { type Flow, flow, type GivenParameters, type ParametersOf } from "./flow.ts";
export type { After, FlowOptions, WireFlowOptions } from "./flow-options.ts";
export type { FlowHooks, Hook, HookEvent, TaskHooks } from "./hooks.ts";
export { waitForInput } from "./input.ts";
export { lease } from "./lease.ts";
export { type Log, log } from "./log.ts";
export { ParameterError } from "./parameters.ts";
export type { RetryOptions } from "./retry.ts";
export { type PathParameters, type RouteContext, type RouteHandler, type RouteOptions, route } from "./route.ts";
export { type DataRule, type RuleContext, type RuleFunction, type RuleMatch, type RuleOptions, rule } from "./rule.ts";
export type {
  CancelRunAction,
  EmailAction,
  RuleAction,
  RunFlowAction,
  ScheduleAction,
  SetStateAction,
  WebhookAction,
} from "./rule-actions.ts";
export { RunError } from "./run-error.ts";
export {
  type CronOptions,
  cron,
  type EveryOptions,
  every,
  rrule,
  type ScheduleDeclaration,
  type ScheduleOptions,
} from "./schedules.ts";
export * as Type from "./schema-types.ts";
export { HomeInUseError } from "./script/home-in-use-error.ts";
export { type FileTarget, file, type Target } from "./target.ts";
export { type Task, type TaskOptions, task } from "./task.ts";
export type { TaskRun } from "./task-run.ts";
export { variable } from "./variable.ts";
export type { SetVariableOptions } from "./variable-store.ts";
