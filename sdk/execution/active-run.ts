import type { DurableRun } from "../durable/durable-run.ts";
import type { Caller } from "../durable/identity.ts";
import { PrintedOutput } from "../output/printed-lines.ts";
import { Questions } from "../run/questions.ts";
import { type CodeTrace, headerOfTask } from "../tracing/trace-note.ts";
import type { Clock } from "./clock.ts";
import type { DynamicKeys } from "./dynamic-keys.ts";
import type { ReportItem } from "./report-item.ts";
import type { RunOrigin } from "./run-origin.ts";
import type { RunServices } from "./run-services.ts";
import { SecretMask } from "./secret-mask.ts";
import { shared } from "./shared-state.ts";
import type { TaskRun } from "./task-run.ts";

/** A run while its code executes in this process. */
export interface ActiveRun {
  id: number;
  externalId: string;
  name: string;
  project: string;
  flow: string;
  /** As sent; after the attempt has begun, converted and with defaults. */
  parameters: Record<string, unknown>;
  origin: RunOrigin;
  /** 1 for the first attempt in this run; retries count up. */
  attempt: number;
  /** Aborted when the run is cancelled or its time limit passes. */
  controller: AbortController;
  clock: Clock;
  /** Data directory; results are cached in its directory `results`. */
  home: string;
  logPrints: boolean;
  /** Output of the run that has not become log lines yet. */
  printed: PrintedOutput;
  /** Receives the report items in order. */
  report: (item: ReportItem) => void;
  /** Requests of the run to its server. */
  services: RunServices;
  /** Questions of the run to people. */
  questions: Questions;
  /** The stored steps and the waits of a durable run, else null. */
  durable: DurableRun | null;
  dynamicKeys: DynamicKeys;
  /** Free slots of tasks that bound their concurrency, by task definition. */
  gates: Map<object, Gate>;
  /** Every task run of this attempt. */
  taskRuns: Set<TaskRun<unknown>>;
  /** Calls of user functions that have not returned yet, including abandoned ones. */
  bodies: Set<Promise<unknown>>;
  /** Artifact ids of progress bars that are updated in place, by task run. */
  progress: Map<string | null, string>;
  /** Values of secret variables that the run knows: its log does not show them. */
  secrets: SecretMask;
  /** Process groups of the commands that the code has started. */
  commands: Set<number>;
  /** Null where neither the engine nor the creator of the run traces it. */
  trace: CodeTrace | null;
  /** True after the attempt: later items are not recorded. */
  ended: boolean;
}

/** The fields an attempt is given; the others start empty. */
export type RunBasis = Pick<
  ActiveRun,
  | "id"
  | "externalId"
  | "name"
  | "project"
  | "flow"
  | "parameters"
  | "origin"
  | "attempt"
  | "clock"
  | "home"
  | "logPrints"
  | "report"
  | "dynamicKeys"
> & {
  servicesFor(signal: AbortSignal): RunServices;
};

/** A run at the beginning of an attempt. */
export function newActiveRun({ servicesFor, ...basis }: RunBasis): ActiveRun {
  const controller = new AbortController();
  const services = servicesFor(controller.signal);
  return {
    ...basis,
    controller,
    services,
    printed: new PrintedOutput(),
    questions: new Questions(controller, services),
    durable: null,
    gates: new Map(),
    taskRuns: new Set(),
    bodies: new Set(),
    progress: new Map(),
    secrets: new SecretMask(),
    commands: new Set(),
    trace: null,
    ended: false,
  };
}

/** Aborts the signal of a run. Listeners of user code are called in the scope of their run, whoever stops it. */
export function abortRun(run: ActiveRun, reason: unknown): void {
  shared.scope.run({ run, task: null }, () => run.controller.abort(reason));
}

/** A task run while its function executes. */
export interface ActiveTask {
  externalId: string;
  name: string;
  dynamicKey: string;
  /** Aborted when this attempt's time limit passes, or with the task run or the run. */
  signal: AbortSignal;
}

export interface Scope {
  run: ActiveRun;
  task: ActiveTask | null;
  /** In a durable run: what calls steps here, unless it is the flow's function. */
  caller?: Caller;
}

/** Bounds the number of concurrent calls; further calls wait in order. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  enter(): Promise<void> | null {
    if (this.#free > 0) {
      this.#free -= 1;
      return null;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** The run and task run around the current code, or undefined outside a run and after its end. */
export function currentScope(): Scope | undefined {
  const scope = shared.scope.getStore();
  return scope === undefined || isOver(scope.run) ? undefined : scope;
}

function isOver({ ended, durable }: ActiveRun): boolean {
  return ended || (durable !== null && durable.parked !== null);
}

/**
 * The header `traceparent` for what the current code calls; undefined outside a run.
 * @param untraced the header for code of a run without a trace
 */
export function currentTraceparent(untraced: (externalId: string) => string | undefined): string | undefined {
  const scope = currentScope();
  if (scope === undefined) return undefined;
  const { trace, externalId } = scope.run;
  return trace === null ? untraced(externalId) : headerOf(trace, scope);
}

function headerOf({ header }: CodeTrace, { task }: Scope): string {
  return task === null ? header : headerOfTask(header, task.externalId);
}

/** Calls a function of the user in a scope. */
export function callInScope(scope: Scope, code: () => unknown): Promise<unknown> {
  const { trace } = scope.run;
  const within = trace?.within ?? null;
  if (trace === null || within === null) return shared.scope.run(scope, async () => code());
  const header = headerOf(trace, scope);
  return shared.scope.run(scope, async () => within(header, code));
}

/** Whether the current code belongs to an attempt of a durable run that is over: what it calls now must have no effect. */
export function isLeftBehind(): boolean {
  const run = shared.scope.getStore()?.run;
  return run !== undefined && run.durable !== null && isOver(run);
}

const NEVER = new AbortController().signal;

/**
 * The signal of the current task run, else of the run; outside a run a signal that never aborts.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, signal } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * // The request ends when the run is cancelled or its time limit passes.
 * const load = flow("load", async () => await (await fetch("data:text/plain,hello", { signal: signal() })).text());
 *
 * const { result } = await runFlow(load);
 * assert.equal(result, "hello");
 * ```
 */
export function currentSignal(): AbortSignal {
  const scope = currentScope();
  return scope?.task?.signal ?? scope?.run.controller.signal ?? NEVER;
}

/**
 * The current scope.
 * @throws Error outside a run.
 */
export function requireScope(what: string): Scope {
  const scope = currentScope();
  if (scope === undefined) throw new Error(`${what} is only available inside a run`);
  return scope;
}
