import { RESULT_BYTES_MAX } from "#protocol/limits";
import type { State } from "#protocol/records/state";
import { endCommands } from "../commands/command-tree.ts";
import type { FlowDefinition } from "../define/flow.ts";
import { callStateHook, hookFor } from "../define/hooks.ts";
import { retryDelayOf } from "../define/retry.ts";
import type { Park } from "../durable/durable-run.ts";
import { isParked } from "../durable/suspension.ts";
import type { Question } from "../run/questions.ts";
import { type ActiveRun, abortRun, callInScope } from "./active-run.ts";
import { logFailedAttempt } from "./attempt-log.ts";
import { Cancelled, describeFailure, type FailureRecord, isPaused } from "./failure.ts";
import { jsonLossOf } from "./json-loss.ts";
import { writeLog } from "./run-log.ts";
import { shared } from "./shared-state.ts";
import { trackBody } from "./task-execution.ts";

/** How long abandoned functions may continue after an attempt before they count as not stopped. */
const LINGER_MS = 1_000;

/** The same after the run was stopped: here the engine ends the thread after its grace, which is shorter. */
const STOPPED_LINGER_MS = 60_000;
/** Characters of the reason why a result is not kept. */
const LOST_LENGTH_MAX = 200;

/** How one attempt of a flow ended. */
export type AttemptOutcome =
  | { kind: "completed"; details: Record<string, unknown>; lingering: boolean }
  | { kind: "failed"; failure: FailureRecord; retryDelaySeconds: number | null; lingering: boolean }
  /** A question has no answer yet. */
  | { kind: "paused"; question: Question; lingering: boolean }
  /** A durable run leaves its engine until one of its waits has settled. */
  | { kind: "parked"; park: Park; lingering: boolean }
  /** The signal of the run was aborted. */
  | { kind: "stopped"; lingering: boolean };

/**
 * Calls a flow's function once, waits for every task run it started, and returns how it ended. `lingering` is true when user
 * functions still run although the attempt is over.
 */
export async function runAttempt(flow: FlowDefinition, run: ActiveRun): Promise<AttemptOutcome> {
  let outcome: AttemptOutcome;
  try {
    run.parameters = await flow.checker.prepare(run.parameters);
    await run.durable?.load();
    const body = callInScope({ run, task: null }, () => flow.fn(run.parameters));
    trackBody(run, body);
    const value = await untilLeft(run, body);
    await taskRunsSettled(run);
    outcome = { kind: "completed", details: resultDetails(run, value), lingering: false };
  } catch (error) {
    // What the function throws because of a stop is not a failure of the flow.
    outcome = run.controller.signal.aborted ? stopped(run) : failed(flow, run, error);
  }
  if (run.controller.signal.aborted) outcome = stopped(run);
  else if (outcome.kind === "failed") abortRun(run, new Cancelled("the run failed"));
  run.durable?.close();
  if (outcome.kind === "parked") return left(run, outcome);
  if (run.bodies.size > 0) {
    outcome.lingering = !(await settledWithin(run, outcome.kind === "stopped" ? STOPPED_LINGER_MS : LINGER_MS));
  }
  await Promise.all([...run.taskRuns].map((taskRun) => taskRun.settled()));
  await endCommands(run);
  await run.printed.arrived();
  run.printed.flush();
  run.ended = true;
  return outcome;
}

/** Calls the flow's hook for a state that its run has reached. */
export async function runFlowHook(flow: FlowDefinition, run: ActiveRun, state: State): Promise<void> {
  const hook = hookFor(flow.options.hooks, state.type);
  if (hook === undefined) return;
  await shared.scope.run({ run, task: null }, () => callStateHook(hook, run, null, state));
  await run.printed.arrived();
  run.printed.flush();
  run.ended = true;
}

/** A parked run: its code stays where it waits, and is forgotten. */
function left(run: ActiveRun, outcome: AttemptOutcome): AttemptOutcome {
  // Beside the flow's function: functions of task runs that were abandoned.
  outcome.lingering = run.bodies.size > 1;
  run.printed.flush();
  run.ended = true;
  return outcome;
}

/**
 * The function's result. A pause ends the attempt even if the function catches Paused and continues; a park ends it at once,
 * because the function goes on waiting.
 */
async function untilLeft<T>({ controller: { signal } }: ActiveRun, body: Promise<T>): Promise<T> {
  const overdue = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    if (isParked(signal.reason)) overdue.reject(signal.reason);
    else if (isPaused(signal.reason)) timer = setTimeout(() => overdue.reject(signal.reason), LINGER_MS);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([body, overdue.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function stopped({ questions: { unanswered }, durable, controller: { signal } }: ActiveRun): AttemptOutcome {
  if (durable?.parked != null) return { kind: "parked", park: durable.parked, lingering: false };
  if (unanswered === null || !isPaused(signal.reason)) return { kind: "stopped", lingering: false };
  return { kind: "paused", question: unanswered, lingering: false };
}

/** Waits for task runs that were not awaited; an unobserved failure fails the run. */
async function taskRunsSettled(run: ActiveRun): Promise<void> {
  // Task runs can start further ones, so the set may grow during the loop; a Set's iterator visits the new ones.
  for (const taskRun of run.taskRuns) {
    await taskRun.settled();
    const error = taskRun.unobservedError();
    if (error !== null) throw error.thrown;
  }
}

async function settledWithin(run: ActiveRun, ms: number): Promise<boolean> {
  const timer = Promise.withResolvers<boolean>();
  const timeout = setTimeout(() => timer.resolve(false), ms);
  const inTime = await Promise.race([Promise.all(run.bodies).then(() => true), timer.promise]);
  clearTimeout(timeout);
  return inTime;
}

function failed(flow: FlowDefinition, run: ActiveRun, error: unknown): AttemptOutcome {
  let retryDelaySeconds: number | null = null;
  try {
    retryDelaySeconds = retryDelayOf(flow.options, run.attempt, error);
  } catch (thrown) {
    writeLog(run, null, 40, "millrace.run", `the retry options threw: ${describeFailure(thrown).message}`);
  }
  const failure = describeFailure(error);
  logFailedAttempt(run, null, flow.options, run.attempt, retryDelaySeconds, failure);
  return { kind: "failed", failure, retryDelaySeconds, lingering: false };
}

function resultDetails(run: ActiveRun, value: unknown): Record<string, unknown> {
  if (value === undefined) return {};
  let text: string | undefined;
  let lost = typeof value === "object" ? "its toJSON returns none" : `it is a ${typeof value}`;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    lost = describeFailure(error).message;
  }
  if (text === undefined) {
    writeLog(run, null, 30, "millrace.run", `the result is not JSON and is not kept: ${lost}`);
    return { result_lost: `it is not JSON: ${lost}`.slice(0, LOST_LENGTH_MAX) };
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= RESULT_BYTES_MAX) {
    const loss = jsonLossOf(value);
    if (loss !== null)
      writeLog(run, null, 30, "millrace.run", `the result is kept as JSON, which has no form for a part: ${loss}`);
    return { result: JSON.parse(text) as unknown };
  }
  const size = `${bytes} bytes as JSON, more than the ${RESULT_BYTES_MAX} that are stored`;
  const advice = "Write it to a file or publish an artifact, and return where it is";
  writeLog(run, null, 30, "millrace.run", `the result is not kept: it has ${size}. ${advice}`);
  return { result_bytes: bytes };
}
