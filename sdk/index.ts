/**
 * What flow files import: flows, tasks, and the functions that user code calls inside a run.
 */

export { CommandError } from "./commands/command-error.ts";
export { type CommandOptions, type CommandResult, exec } from "./commands/exec.ts";
export { type Shell, type ShellOptions, sh } from "./commands/shell-command.ts";
export type { ShellValue } from "./commands/shell-text.ts";
export { type Duration, parseDuration } from "./define/duration.ts";
export { type Flow, flow, type GivenParameters, type ParametersOf } from "./define/flow.ts";
export type { After, FlowOptions, WireFlowOptions } from "./define/flow-options.ts";
export type { FlowHooks, Hook, HookEvent, TaskHooks } from "./define/hooks.ts";
export { ParameterError } from "./define/parameters.ts";
export type { RetryOptions } from "./define/retry.ts";
export type { HmacOptions, Verification } from "./define/routes/delivery-signature.ts";
export { type HookContext, type HookFunction, type HookOptions, hook } from "./define/routes/hook.ts";
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
/** Schema types for parameters, those of typebox. */
export * as Type from "./define/schema-types.ts";
export { type FileTarget, file, type Target } from "./define/target.ts";
export { type Task, type TaskCallOptions, type TaskOptions, task } from "./define/task.ts";
export type { InputOptions } from "./durable/ask.ts";
export { type Callback, type CallbackOptions, callback } from "./durable/callback.ts";
export { type Child, type ChildOptions, type ChildRun, child, childMap } from "./durable/child.ts";
export { sleep, sleepUntil } from "./durable/sleep.ts";
export { type StepOptions, step } from "./durable/step.ts";
export { StepChangedError } from "./durable/stored-steps.ts";
export { NotStorableError } from "./durable/values.ts";
export type { DurableWaitOptions } from "./durable/wait-call.ts";
export { ChildFailed, WaitTimeout } from "./durable/wait-errors.ts";
export { type AwaitedEvent, type EventWaitOptions, waitForEvent } from "./durable/wait-for-event.ts";
export { currentSignal as signal } from "./execution/active-run.ts";
export { Abort, Cancelled, Paused, TimedOut } from "./execution/failure.ts";
export type { StartedRun, StartOptions } from "./execution/started-run.ts";
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
export type { LogFields } from "./run/log-fields.ts";
export { variable } from "./run/variable.ts";
export type { SetVariableOptions } from "./run/variable-store.ts";
export { HomeInUseError } from "./script/home-in-use-error.ts";
export { RunError } from "./script/run-error.ts";
