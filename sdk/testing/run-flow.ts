import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateType } from "#protocol/records/state";
import { definitionOf, type FlowDefinition } from "../define/flow.ts";
import { type ActiveRun, abortRun, newActiveRun, type RunBasis } from "../execution/active-run.ts";
import { type AttemptOutcome, runAttempt, runFlowHook } from "../execution/attempt.ts";
import { Cancelled, isPaused, TimedOut } from "../execution/failure.ts";
import { captureConsole } from "../output/console-capture.ts";
import { FakeClock } from "./fake-clock.ts";
import { Recording } from "./recording.ts";
import { TestServices } from "./test-services.ts";

/** Real time a function has to return after its signal was aborted; a function that ignores the signal is abandoned. */
const GRACE_MS = 2_000;

export interface RunFlowOptions {
  /** Simulated time; pass your own clock to advance it. Default: a new one. */
  clock?: FakeClock;
  /** Directory of cached results. Default: a temporary one. */
  home?: string;
  /** Name of the run. Default "test-run". */
  name?: string;
  /** Cancels the run when it aborts. */
  signal?: AbortSignal;
  /**
   * Answers to the questions of waitForInput(): the run pauses at each question and starts again with its answer. Without
   * further answers the run stays Paused.
   */
  answers?: readonly unknown[];
  /** Totals of named resources. Default: 1 of each. */
  resources?: Readonly<Record<string, number>>;
  /** Variables at the start; `recording.variables` has them as of the end. */
  variables?: Readonly<Record<string, unknown>>;
}

/**
 * Runs a flow in this process without a server, including retries, time limits, hooks and caches; delays take simulated time.
 * Resolves to the recording of the run, whatever its last state.
 * @throws TypeError when `flow` was not made by flow()
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

class TestRun<Result> {
  readonly recording = new Recording<Result>();
  readonly #flow: FlowDefinition;
  readonly #clock: FakeClock;
  readonly #basis: Omit<RunBasis, "attempt" | "counters">;
  readonly #services: TestServices;
  readonly #answers: unknown[];
  readonly #signal: AbortSignal | undefined;
  /** The counters of dynamic keys continue over the attempts of one engine. */
  #counters = new Map<string, number>();

  constructor(flow: FlowDefinition, parameters: Record<string, unknown>, options: RunFlowOptions, home: string) {
    this.#flow = flow;
    this.#clock = options.clock ?? new FakeClock();
    this.#signal = options.signal;
    this.#answers = [...(options.answers ?? [])];
    for (const [name, value] of Object.entries(options.variables ?? {})) this.recording.variables.set(name, value);
    this.#services = new TestServices(this.recording.variables, options.resources ?? {});
    this.#basis = {
      id: 1,
      externalId: "00000000-0000-7000-8000-000000000001",
      name: options.name ?? "test-run",
      project: flow.project ?? "test",
      flow: flow.name,
      parameters,
      clock: this.#clock,
      home,
      logPrints: flow.wire.log_prints,
      report: (item) => this.recording.add(item),
      servicesFor: () => this.#services,
    };
  }

  async execute(): Promise<void> {
    this.#move("Scheduled");
    while (await this.#execution()) {
      this.#services.given.push(this.#answers.shift());
      this.#move("Scheduled", "Resuming");
    }
  }

  /** From the hand-out to an engine to the end or a pause; true if the run has paused and an answer is left. */
  async #execution(): Promise<boolean> {
    this.#counters = new Map();
    this.#move("Pending");
    this.#move("Running");
    for (let attempt = 1; ; attempt += 1) {
      const run = this.#activate(attempt);
      const outcome = await this.#attempt(run);
      this.#services.releaseAll();
      if (outcome.kind === "paused") {
        this.#move("Paused", "Paused", outcome.question.prompt, { ...outcome.question });
        return this.#answers.length > 0;
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

  async #attempt(run: ActiveRun): Promise<AttemptOutcome> {
    const seconds = this.#flow.wire.timeout_seconds;
    const disarm = seconds === null ? undefined : this.#clock.after(seconds * 1000, () => abortRun(run, new TimedOut(seconds)));
    const onAbort = () => abortRun(run, new Cancelled("cancelled"));
    if (this.#signal?.aborted) onAbort();
    this.#signal?.addEventListener("abort", onAbort, { once: true });
    const given = Promise.withResolvers<AttemptOutcome>();
    let timer: NodeJS.Timeout | undefined;
    run.controller.signal.addEventListener("abort", () => {
      // A pause has its own time bound.
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

  #end(run: ActiveRun, outcome: Exclude<AttemptOutcome, { kind: "paused" }>): void {
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
    return newActiveRun({ ...this.#basis, attempt, counters: this.#counters });
  }

  #move(type: StateType, name: string = type, message: string | null = null, details: Record<string, unknown> = {}): void {
    this.recording.states.push({ type, name, timestamp: this.#clock.nowUs(), message, details });
  }
}
