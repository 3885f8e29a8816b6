import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateType } from "#protocol/records/state";
import { definitionOf, type FlowDefinition } from "../define/flow.ts";
import { beginDurable } from "../durable/begin-durable.ts";
import { isParked } from "../durable/suspension.ts";
import { type ActiveRun, abortRun, newActiveRun, type RunBasis } from "../execution/active-run.ts";
import { type AttemptOutcome, runAttempt, runFlowHook } from "../execution/attempt.ts";
import { DynamicKeys } from "../execution/dynamic-keys.ts";
import { Cancelled, isPaused, TimedOut } from "../execution/failure.ts";
import type { ReportItem } from "../execution/report-item.ts";
import type { RunOrigin } from "../execution/run-origin.ts";
import type { StartedRun } from "../execution/started-run.ts";
import { captureConsole } from "../output/console-capture.ts";
import { RunError } from "../script/run-error.ts";
import { FakeClock } from "./fake-clock.ts";
import { Recording } from "./recording.ts";
import { type ChildEnd, type GivenEvent, TestDurable } from "./test-durable.ts";
import { TestServices } from "./test-services.ts";

/** Real time a function has to return after its signal was aborted; a function that ignores the signal is abandoned. */
const GRACE_MS = 2_000;

/** Options of `runFlow`. */
export interface RunFlowOptions {
  /** Simulated time; pass your own clock to advance it. Default: a new one. */
  clock?: FakeClock;
  /** Directory of cached results. Default: a temporary one. */
  home?: string;
  /** Name of the run. Default "test-run". */
  name?: string;
  /** The fire of a schedule that the run is for: `run.fireTime`. */
  fireTime?: Date;
  /** `run.schedule`. Default: none; if `fireTime` is set, a schedule without a key. */
  schedule?: { id?: number; key?: string | null };
  /** `run.createdBy`. Default "client"; if `fireTime` is set, "schedule". */
  createdBy?: string;
  /** Tags in addition to those of the flow. */
  tags?: readonly string[];
  /** Cancels the run when it aborts. */
  signal?: AbortSignal;
  /**
   * Answers to the questions of waitForInput(): the run pauses at each question and starts again with its answer. Without
   * further answers the run stays Paused.
   */
  answers?: readonly unknown[];
  /**
   * Results by the name of a task or step of a durable flow, which is then not called.
   */
  steps?: Readonly<Record<string, unknown>>;
  /**
   * Results of children by the name of their flow, or functions of their parameters. Other children that the flow waits for are
   * run like the flow itself.
   */
  children?: Readonly<Record<string, unknown>>;
  /** Events for waitForEvent(), in order; each settles one wait. A wait without an event ends with its timeout. */
  events?: readonly GivenEvent[];
  /** What is sent to the URLs of callback(), in order. */
  callbacks?: readonly unknown[];
  /** Totals of named resources. Default: 1 of each. */
  resources?: Readonly<Record<string, number>>;
  /** Variables at the start; `recording.variables` has them as of the end. */
  variables?: Readonly<Record<string, unknown>>;
}

/**
 * Runs a flow in this process without a server, including retries, time limits, hooks and caches; delays take simulated time.
 * Resolves to the recording of the run, whatever its last state.
 * @throws TypeError when `flow` was not made by flow()
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, task, Type } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * let calls = 0;
 * const fetchRows = task("fetch-rows", { retries: 2, retryDelay: "10m" }, async (day: string) => {
 *   calls += 1;
 *   if (calls === 1) throw new Error("no connection");
 *   return [`${day}, 12`];
 * });
 * const load = flow("load", { parameters: Type.Object({ day: Type.String() }) }, async ({ day }) => (await fetchRows(day)).length);
 *
 * // The ten minutes until the retry pass at once.
 * const { result, taskRuns } = await runFlow(load, { day: "2026-01-01" });
 * assert.equal(result, 1);
 * assert.deepEqual(taskRuns[0]?.states.map(({ name }) => name), ["Pending", "Running", "AwaitingRetry", "Retrying", "Completed"]);
 * ```
 */
export async function runFlow<Given extends [parameters?: object], Result>(
  flow: (...parameters: Given) => Promise<Result>,
  ...given: [...parameters: Given, options?: RunFlowOptions]
): Promise<Recording<Result>> {
  const [parameters = {}, options = {}] = given as [parameters?: Record<string, unknown>, options?: RunFlowOptions];
  const definition = definitionOf(flow);
  if (definition === undefined) throw new TypeError("runFlow() takes what flow() returned");
  captureConsole();
  const ownHome = options.home === undefined ? await mkdtemp(join(tmpdir(), "millrace-test-")) : null;
  try {
    const run = new TestRun<Result>(definition, parameters, options, options.home ?? ownHome ?? "");
    await run.execute();
    return run.recording;
  } finally {
    if (ownHome !== null) await rm(ownHome, { recursive: true, force: true });
  }
}

function originOf({ options: declared, wire }: FlowDefinition, options: RunFlowOptions): RunOrigin {
  const { fireTime, schedule, createdBy, tags = [] } = options;
  const fires = fireTime !== undefined || schedule !== undefined;
  return {
    attemptsBefore: 0,
    createdBy: createdBy ?? (fires ? "schedule" : "client"),
    tags: [...new Set([...(declared.tags ?? []), ...tags])],
    fireTimeUs: fireTime === undefined ? null : fireTime.getTime() * 1000,
    schedule: fires ? { id: schedule?.id ?? 1, key: schedule?.key ?? null } : null,
    lineage: wire.durable === true ? 1 : null,
  };
}

/** The options for a run that the run starts: it has no fire of its own. */
function childOptions({ fireTime: _fire, schedule: _schedule, tags: _tags, ...shared }: RunFlowOptions): RunFlowOptions {
  return { ...shared, createdBy: "run:1" };
}

class TestRun<Result> {
  readonly recording = new Recording<Result>();
  readonly #flow: FlowDefinition;
  readonly #clock: FakeClock;
  readonly #basis: Omit<RunBasis, "attempt" | "dynamicKeys">;
  readonly #services: TestServices;
  readonly #durable: TestDurable;
  #active: ActiveRun | null = null;
  readonly #answers: unknown[];
  readonly #signal: AbortSignal | undefined;
  /** The numbering of dynamic keys continues over the attempts of one engine. */
  #dynamicKeys = new DynamicKeys();
  /** Goes on over the parks of a durable run. */
  #attempt = 1;

  constructor(flow: FlowDefinition, parameters: Record<string, unknown>, options: RunFlowOptions, home: string) {
    this.#flow = flow;
    this.#clock = options.clock ?? new FakeClock();
    this.#signal = options.signal;
    this.#answers = [...(options.answers ?? [])];
    for (const [name, value] of Object.entries(options.variables ?? {})) this.recording.variables.set(name, value);
    const { steps = {}, children = {}, events = [], callbacks = [], resources = {} } = options;
    const given = { steps, children, events, callbacks, answers: this.#answers };
    this.#durable = new TestDurable(this.#clock, given, (child, of) => this.#runChild(child, of, options, home));
    this.#services = new TestServices(
      this.recording.variables,
      resources,
      this.#durable,
      async (_run, flow, items, { tags = [] }) =>
        items.map((parameters) => this.#start(flow as FlowDefinition, parameters, tags, options, home)),
    );
    this.#basis = {
      id: 1,
      externalId: "00000000-0000-7000-8000-000000000001",
      name: options.name ?? "test-run",
      project: flow.project ?? "test",
      flow: flow.name,
      parameters,
      origin: originOf(flow, options),
      clock: this.#clock,
      home,
      logPrints: flow.wire.log_prints,
      report: (item) => this.#report(item),
      servicesFor: () => this.#services,
    };
  }

  async execute(): Promise<void> {
    this.#move("Scheduled");
    while (await this.#execution()) this.#move("Scheduled", "Resuming");
  }

  /** A step is stored at once. */
  #report(item: ReportItem): void {
    this.recording.add(item);
    if (item.kind !== "step") return;
    this.#durable.keep(item);
    // The report is made before its caller waits for the commit.
    queueMicrotask(() => this.#active?.durable?.settled({ identities: [item.identity], error: null }));
  }

  /** A run of its own begins when its result is awaited: it has the given result, or is run like the flow itself. */
  #start(
    flow: FlowDefinition,
    parameters: Record<string, unknown>,
    tags: readonly string[],
    options: RunFlowOptions,
    home: string,
  ): StartedRun<unknown> {
    this.recording.started.push({ flow: flow.name, parameters, tags });
    const id = this.#basis.id + this.recording.started.length;
    const given = options.children?.[flow.name];
    const result = async (): Promise<unknown> => {
      if (given !== undefined) return typeof given === "function" ? await given(parameters) : given;
      const run = new TestRun(flow, parameters, { ...childOptions(options), clock: this.#clock, name: `run-${id}` }, home);
      await run.execute();
      const { state, result } = run.recording;
      if (state.type === "Completed") return result;
      throw new RunError({ id, name: `run-${id}`, state });
    };
    return { id, result };
  }

  async #runChild(flow: object, parameters: Record<string, unknown>, options: RunFlowOptions, home: string): Promise<ChildEnd> {
    const definition = definitionOf(flow);
    if (definition === undefined) throw new TypeError("child() takes what flow() returned");
    const called = { clock: this.#clock, name: `${definition.name}-child` };
    const child = new TestRun(definition, parameters, { ...childOptions(options), ...called }, home);
    await child.execute();
    this.recording.children.push(child.recording);
    return { state: child.recording.state, result: child.recording.result };
  }

  /** From the hand-out to an engine to the end or a pause; true if the run goes on. */
  async #execution(): Promise<boolean> {
    this.#dynamicKeys = new DynamicKeys();
    this.#move("Pending");
    this.#move("Running");
    for (; ; this.#attempt += 1) {
      const attempt = this.#attempt;
      const run = this.#activate(attempt);
      const outcome = await this.#outcomeOf(run);
      this.#services.releaseAll();
      if (outcome.kind === "paused") {
        this.#move("Paused", "Paused", outcome.question.prompt, { ...outcome.question });
        if (this.#answers.length === 0) return false;
        this.#services.given.push(this.#answers.shift());
        this.#attempt = 1;
        return true;
      }
      if (outcome.kind === "parked") {
        const { type, name, message, details } = this.#durable.stateOf(outcome.park.waits);
        this.#move(type, name, message, details);
        if (await this.#durable.settleNext(outcome.park.waits, this.#signal)) return true;
        if (this.#signal?.aborted === true) this.#move("Cancelled", "Cancelled", "cancelled");
        return false;
      }
      if (outcome.kind === "failed" && outcome.retryDelaySeconds !== null) {
        const { message, exception, traceback } = outcome.failure;
        const delay = outcome.retryDelaySeconds;
        const retries = this.#flow.wire.retries;
        this.#move("Scheduled", "AwaitingRetry", message, { attempt, delay, retries, exception, traceback });
        await this.#clock.sleep(delay * 1000, this.#signal).catch(() => undefined);
        if (this.#signal?.aborted !== true) {
          this.#move("Running", "Retrying");
          continue;
        }
      }
      this.#end(run, outcome);
      await runFlowHook(this.#flow, this.#activate(attempt), this.recording.state);
      return false;
    }
  }

  async #outcomeOf(run: ActiveRun): Promise<AttemptOutcome> {
    const seconds = this.#flow.wire.timeout_seconds;
    const disarm = seconds === null ? undefined : this.#clock.after(seconds * 1000, () => abortRun(run, new TimedOut(seconds)));
    const onAbort = () => abortRun(run, new Cancelled("cancelled"));
    if (this.#signal?.aborted) onAbort();
    this.#signal?.addEventListener("abort", onAbort, { once: true });
    const given = Promise.withResolvers<AttemptOutcome>();
    let timer: NodeJS.Timeout | undefined;
    run.controller.signal.addEventListener("abort", () => {
      // A pause has its own time bound, and a park none.
      if (isParked(run.controller.signal.reason)) return;
      if (isPaused(run.controller.signal.reason)) return;
      timer = setTimeout(() => given.resolve({ kind: "stopped", lingering: true }), GRACE_MS);
    });
    try {
      return await Promise.race([runAttempt(this.#flow, run), given.promise]);
    } finally {
      clearTimeout(timer);
      disarm?.();
      this.#signal?.removeEventListener("abort", onAbort);
    }
  }

  #end(run: ActiveRun, outcome: Exclude<AttemptOutcome, { kind: "paused" | "parked" }>): void {
    const reason = run.controller.signal.reason as unknown;
    if (outcome.kind === "completed") this.#move("Completed", "Completed", null, outcome.details);
    else if (outcome.kind === "stopped" && reason instanceof TimedOut) this.#move("Failed", "TimedOut", reason.message);
    else if (outcome.kind === "stopped" || this.#signal?.aborted) this.#move("Cancelled", "Cancelled", "cancelled");
    else {
      const { message, exception, traceback } = outcome.failure;
      this.#move("Failed", "Failed", message, { exception, traceback });
    }
  }

  #activate(attempt: number): ActiveRun {
    const run = newActiveRun({ ...this.#basis, attempt, dynamicKeys: this.#dynamicKeys });
    this.#active = run;
    const facts = { lineageId: run.id, ...this.#durable.counts, parkAfterSecs: 0, lease: 1 };
    if (this.#flow.wire.durable === true) beginDurable(run, facts);
    return run;
  }

  #move(type: StateType, name: string = type, message: string | null = null, details: Record<string, unknown> = {}): void {
    this.recording.states.push({ type, name, timestamp: this.#clock.nowUs(), message, details });
  }
}
