/** The control thread's side of a run: start, attempts, retries, stops and the last state. */
import type { WorkItem } from "#protocol/records/engine";
import { isStateType, isTerminal, type State, type StateType } from "#protocol/records/state";
import type { DurableFacts } from "../durable/durable-services.ts";
import type { AttemptOutcome } from "../execution/attempt.ts";
import { systemClock } from "../execution/clock.ts";
import type { FailureRecord } from "../execution/failure.ts";
import type { LogLines, ReportItem } from "../execution/report-item.ts";
import { originOf } from "../execution/run-origin.ts";
import type { RunTrace } from "../tracing/run-trace.ts";
import type { Tracer } from "../tracing/tracer.ts";
import { type Ending, stateOf } from "./ending.ts";
import { OpenTaskRuns } from "./open-task-runs.ts";
import type { TransitionAnswer } from "./reporter.ts";
import { Reporter } from "./reporter.ts";
import type { HeldRun, RunChannel } from "./run-channel.ts";
import { RunChildren } from "./run-children.ts";
import { RunStop } from "./run-stop.ts";
import type { CodeKeeper, CodePlace, Ended, FlowFacts, RunFacts } from "./user-thread-api.ts";

/** Attempts whose times go with a run that leaves its engine. */
const PARKED_TIMES_MAX = 50;

/** How long a hook may take before it is ended as a run that does not stop. */
const HOOK_MS_MAX = 60_000;

export interface RunControlOptions {
  /** How long user code may take to return after a cancel before it is abandoned or ended with its thread. */
  graceMs: number;
  /** A run is given up after this long without a server, as its reports are. */
  lostMs: number;
  complain(text: string): void;
  /** The flow's function has been called. */
  called?(): void;
  /** Absent where runs are not traced. */
  tracer?: Tracer | undefined;
}

/** Takes one run from its work item to its last state. */
export class RunControl {
  readonly #keeper: CodeKeeper;
  readonly #item: WorkItem;
  readonly #options: RunControlOptions;
  readonly #reporter: Reporter;
  readonly #server: HeldRun;
  readonly #stop: RunStop;
  readonly #children: RunChildren;
  readonly #open = new OpenTaskRuns();
  /** Null for a run that is not traced here. */
  readonly #trace: RunTrace | null;
  readonly #facts: RunFacts;
  readonly #flow: FlowFacts | undefined;
  /** Begin and end of each attempt; the end of the latest is null until another follows. */
  readonly #times: [fromUs: number, toUs: number | null][];
  /** The attempt that begins or goes on. */
  #attempt = 1;
  /** How long the attempt had executed when the run last left an engine, of its time limit. */
  #ranBeforeUs = 0;
  /** When its present part began. */
  #fromUs = 0;
  /** Where the flow's function or its hook executes now. */
  #place: CodePlace | null = null;
  #abandoned = false;

  constructor(channel: RunChannel, keeper: CodeKeeper, item: WorkItem, options: RunControlOptions) {
    this.#keeper = keeper;
    this.#item = item;
    this.#options = options;
    const { progress } = item;
    this.#times = (progress?.times ?? []) as [number, number | null][];
    this.#attempt = progress?.attempt ?? 1;
    this.#ranBeforeUs = progress?.ran_us ?? 0;
    this.#facts = {
      id: item.run_id,
      externalId: item.external_id,
      name: item.run_name,
      project: item.project,
      flow: item.flow,
      parameters: item.parameters,
      origin: originOf(item, this.#attempt),
      ...durableFacts(item),
    };
    this.#trace = options.tracer?.begin(item, systemClock.nowUs()) ?? null;
    if (item.traceparent !== undefined) this.#facts.traceparent = item.traceparent;
    this.#flow = keeper.find(item.project, item.flow);
    this.#children = new RunChildren(item.external_id, keeper.gauges, (level, message) => this.#log(level, message));
    this.#stop = new RunStop(
      (seconds) => {
        keeper.thread.stop(item.run_id, seconds);
        void this.#children.stop();
      },
      () => void this.#enforceStop(),
      options.graceMs,
    );
    this.#server = channel.hold(item, {
      cancelRequested: () => this.#stop.request({ kind: "cancelled" }),
      gone: (reason) => this.#abandon(reason),
      lost: () => this.#abandon(`no server for ${options.lostMs / 1000} s, the run is given up`),
    });
    this.#reporter = new Reporter(this.#server, item, {
      cancelRequested: () => this.#stop.request({ kind: "cancelled" }),
      gone: (reason) => this.#abandon(reason),
      complain: options.complain,
      stored: (steps) => this.#place?.stored(item.run_id, steps),
      waiting: (chars) => keeper.gauges.addWaiting(chars),
    });
  }

  /** Executes the run. Never throws because of user code. */
  async execute(): Promise<void> {
    try {
      const ending = this.#item.cancel_requested ? ({ kind: "cancelled" } as const) : await this.#start();
      if (ending !== null) await this.#finish(ending);
    } finally {
      this.#close();
    }
  }

  /** Only calls the hook for a state that the run reached without this engine. */
  async executeHook(state: State): Promise<void> {
    try {
      await this.#runHook(state);
    } finally {
      this.#close();
    }
  }

  /** Asks the server at once for the run's status. */
  check(): void {
    this.#server.check();
  }

  /** Stops the run because the engine process has to end; the run is recorded as Crashed. */
  shutDown(): void {
    this.#stop.request({ kind: "shut-down" });
  }

  /** Stops the run without a last state, which the server has or does not want. Only the first reason is logged. */
  #abandon(reason: string): void {
    if (!this.#abandoned) this.#options.complain(`run ${this.#item.run_id}: ${reason}`);
    this.#abandoned = true;
    this.#stop.request({ kind: "gone" });
  }

  #close(): void {
    this.#server.close();
    this.#stop.close();
    this.#reporter.close();
  }

  /** The moves Pending and Running, then the attempts; null if the run must not be started. */
  async #start(): Promise<Ending | null> {
    const timestamp = systemClock.nowUs();
    const states = (["Pending", "Running"] as const).map((type) => ({ type, name: type, timestamp, message: null, details: {} }));
    if (!(await this.#moves(states))) return null;
    const flow = this.#flow;
    if (flow !== undefined) return await this.#attempts(flow);
    const name = `flow ${this.#item.project}/${this.#item.flow}`;
    const { importError } = this.#keeper;
    if (importError === null) {
      const message = `${name} is not defined in its module`;
      return { kind: "failed", failure: { message, exception: "FlowNotFound", traceback: message } };
    }
    const message = `the file of ${name} does not load as it is now: ${importError.split("\n").at(-1)}`;
    return { kind: "failed", failure: { message, exception: "FlowNotLoaded", traceback: importError } };
  }

  async #attempts(flow: FlowFacts): Promise<Ending> {
    for (; ; this.#attempt += 1, this.#ranBeforeUs = 0) {
      const times = this.#beginTimes();
      const result = await this.#call(flow);
      if (result.kind !== "retry") return result;
      times[1] = systemClock.nowUs();
      const { failure, delay } = result;
      const { message, traceback, exception } = failure;
      const attempt = this.#attempt;
      const details = { attempt, delay, retries: flow.retries, traceback, exception };
      if (delay > (this.#item.park_after_secs ?? Number.POSITIVE_INFINITY))
        return { kind: "parked", park: { waits: [], hold: false }, retry: { delay, attempt, message, details } };
      const waits = await this.#move("Scheduled", "AwaitingRetry", message, details);
      if (!waits) return this.#stopEnding() ?? { kind: "failed", failure };
      await systemClock.sleep(delay * 1000, this.#stop.signal).catch(() => undefined);
      const stopped = this.#stopEnding();
      if (stopped !== null) return stopped;
      if (!(await this.#move("Running", "Retrying"))) return this.#stopEnding() ?? { kind: "gone" };
    }
  }

  /** The times of the attempt; one that goes on has begun earlier. */
  #beginTimes(): [number, number | null] {
    this.#fromUs = systemClock.nowUs();
    const last = this.#times.at(-1);
    if (last !== undefined && last[1] === null) return last;
    const times: [number, number | null] = [this.#fromUs, null];
    this.#times.push(times);
    return times;
  }

  /** One call of the flow's function, under its time limit. */
  async #call(flow: FlowFacts): Promise<Ending | { kind: "retry"; failure: FailureRecord; delay: number }> {
    const place = await this.#keeper.ready();
    const early = this.#stopEnding();
    if (early !== null) return early;
    const seconds = flow.timeoutSeconds;
    const leftMs = (seconds ?? 0) * 1000 - this.#ranBeforeUs / 1000;
    const disarm =
      seconds === null ? undefined : systemClock.after(leftMs, () => this.#stop.request({ kind: "timed-out", seconds }));
    this.#place = place;
    const outcomes = this.#execute(place);
    this.#options.called?.();
    const outcome = await outcomes;
    this.#place = null;
    disarm?.();
    this.#stop.disarm();
    if (outcome.kind !== "ended" && outcome.lingering) this.#keeper.retire(this.#item.run_id);
    await this.#children.end(outcome.kind === "completed" && this.#stop.reason === null);
    const ending = this.#stopEnding() ?? endingOf(outcome, this.#item.run_id);
    if (ending.kind === "retry") this.#trace?.endAttempt(ending.failure, systemClock.nowUs());
    return ending;
  }

  #execute(place: CodePlace): Promise<AttemptOutcome | Ended> {
    const trace = this.#trace;
    const observe = (items: ReportItem[]) => {
      this.#open.observe(items);
      trace?.observe(items);
      this.#reporter.add(items);
    };
    if (trace === null) return place.execute(this.#facts, this.#attempt, observe);
    const traceparent = trace.beginAttempt(this.#attempt, this.#fromUs);
    return place.execute({ ...this.#facts, traceparent }, this.#attempt, observe, (note) => trace.note(note));
  }

  /** The ending of a stopped run, regardless of the outcome of its code. */
  #stopEnding(): Ending | null {
    const { reason } = this.#stop;
    if (reason === null) return null;
    return reason.kind === "shut-down" ? { kind: "crashed", cause: "the engine was stopped", details: {} } : reason;
  }

  /** The last move and its hook. */
  async #finish(ending: Ending): Promise<void> {
    this.#stop.disarm();
    if (ending.kind === "parked") return await this.#park(ending);
    const nowUs = systemClock.nowUs();
    let state = stateOf(ending, nowUs);
    this.#trace?.end(state, nowUs);
    if (state === null) return;
    const crashed = ending.kind === "crashed";
    const why = crashed ? ending.cause : ending.kind === "paused" ? "paused for input" : "the run has ended";
    // The user thread wrote the line of every other failed attempt.
    const unsaid = this.#times.length > 0 && (crashed || ending.kind === "timed-out");
    if (unsaid) this.#reporter.add([this.#failedAttempt(String(state.message), crashed, nowUs)]);
    this.#reporter.add(this.#open.closing(crashed ? "Crashed" : "Cancelled", why, nowUs));
    let answer = await this.#transition(state);
    if (answer.kind === "refused" && answer.current === "Cancelling" && state.type !== "Cancelled") {
      // A cancel arrived after the function had returned; only this move ends the run now.
      state = { type: "Cancelled", name: "Cancelled", timestamp: nowUs, message: "cancelled", details: {} };
      answer = await this.#transition(state);
    }
    // The server decides about a crash: it sets the rerun time, and a run beyond its crash limit is Failed.
    const decided = crashed && answer.kind === "refused" && isStateType(answer.current) && isTerminal(answer.current);
    if (answer.kind === "refused" && !decided)
      this.#options.complain(`run ${this.#item.run_id}: ${state.name} was refused: ${answer.error}`);
    this.#server.close();
    // The server reports a crash, whichever side noticed it.
    if (answer.kind === "accepted" && !crashed && this.#flow?.hooks.includes(state.type)) await this.#runHook(state);
  }

  /** The run leaves this engine. If it was cancelled before that, it ends; if the server refuses, it is run again. */
  async #park({ park, retry }: Ending & { kind: "parked" }): Promise<void> {
    const timestamp = systemClock.nowUs();
    const ran_us = retry === undefined ? this.#ranBeforeUs + timestamp - this.#fromUs : 0;
    const attempt = this.#attempt + (retry === undefined ? 0 : 1);
    const times = this.#times.slice(-PARKED_TIMES_MAX);
    const { waits, hold } = park;
    const answer =
      this.#stop.reason?.kind === "gone"
        ? { kind: "gone" as const }
        : await this.#reporter.park({
            kind: "park",
            timestamp,
            waits,
            progress: { attempt, times, ran_us, ...(this.#trace !== null && { trace: this.#trace.park(timestamp) }) },
            ...(hold ? { hold } : {}),
            ...(retry === undefined ? {} : { retry }),
          });
    if (answer.kind !== "refused") return;
    if (answer.current === "Cancelling") await this.#finish({ kind: "cancelled" });
    else await this.#finish({ kind: "crashed", cause: `the run could not leave its engine: ${answer.error}`, details: {} });
  }

  #failedAttempt(why: string, crashed: boolean, timestamp: number): LogLines {
    const [attempt, attempts] = [this.#times.length, (this.#flow?.retries ?? 0) + 1];
    // The server decides whether a crashed run is run again.
    const next = !crashed && attempt < attempts ? ", and there is no other" : "";
    const message = `attempt ${attempt} of ${attempts} failed${next}: ${why}`;
    const line = { run_id: this.#item.run_id, task_run_id: null, task_run_external_id: null, level: 40, logger: "millrace.run" };
    return { kind: "logs", logs: [{ ...line, timestamp, message }] };
  }

  /** Calls the flow's hook for a state, and reports the hook's log lines. */
  async #runHook(state: State): Promise<void> {
    const place = await this.#keeper.ready();
    this.#place = place;
    const limit = setTimeout(() => void this.#endCode(place), HOOK_MS_MAX);
    const failure = await place.hook(this.#facts, state, (items) => this.#reporter.add(items));
    this.#place = null;
    clearTimeout(limit);
    if (failure !== null) {
      const why = typeof failure === "string" ? `hook: ${failure}` : `${failure.cause} in a hook`;
      this.#options.complain(`run ${this.#item.run_id}: ${why}`);
    }
    await this.#children.end(true);
    await this.#reporter.flush();
  }

  #log(level: number, message: string): void {
    const line = { run_id: this.#item.run_id, task_run_id: null, task_run_external_id: null, level, logger: "millrace.run" };
    this.#reporter.add([{ kind: "logs", logs: [{ ...line, timestamp: systemClock.nowUs(), message }] }]);
  }

  /** The code did not return within the grace. */
  async #enforceStop(): Promise<void> {
    await this.#children.kill();
    if (this.#place !== null) await this.#endCode(this.#place);
  }

  /**
   * Code that holds its thread can only be ended with the thread; other code is left to itself, so that the other runs of the
   * thread go on.
   */
  async #endCode(place: CodePlace): Promise<void> {
    const run = this.#item.run_id;
    if (!(await place.responds())) return await place.terminate(run);
    this.#keeper.retire(run);
    place.abandon(run);
  }

  /** One move of the run; false if it was refused or the run is gone. */
  #move(type: StateType, name: string, message: string | null = null, details = {}): Promise<boolean> {
    return this.#moves([{ type, name, timestamp: systemClock.nowUs(), message, details }]);
  }

  /** Moves of the run, one after the other; false as soon as one is refused or the run is gone. */
  async #moves(states: readonly State[]): Promise<boolean> {
    const answer = await this.#transition(...states);
    if (answer.kind === "refused") {
      if (answer.current === "Cancelling") this.#stop.request({ kind: "cancelled" });
      else this.#options.complain(`run ${this.#item.run_id}: ${states.at(-1)?.name} was refused: ${answer.error}`);
    }
    return answer.kind === "accepted";
  }

  /** The state of a retried run holds the begin and end of each attempt, because no event marks the end of an attempt. */
  #withAttempts(state: State): State {
    if (this.#times[0]?.[1] == null) return state;
    return { ...state, details: { ...state.details, attempts: structuredClone(this.#times) } };
  }

  /** Sends moves after everything reported so far. */
  async #transition(...moves: State[]): Promise<TransitionAnswer> {
    const states = moves.map((move) => this.#withAttempts(move));
    return this.#stop.reason?.kind === "gone" ? { kind: "gone" } : await this.#reporter.move(states);
  }
}

/** The ending of run `run` by an outcome of its code, or by the end of the thread. */
function endingOf(
  outcome: AttemptOutcome | Ended,
  run: number,
): Ending | { kind: "retry"; failure: FailureRecord; delay: number } {
  switch (outcome.kind) {
    case "completed":
      return { kind: "completed", details: outcome.details };
    case "failed":
      return outcome.retryDelaySeconds === null
        ? { kind: "failed", failure: outcome.failure }
        : { kind: "retry", failure: outcome.failure, delay: outcome.retryDelaySeconds };
    case "ended":
      return crashOf(outcome, run);
    case "paused":
      return { kind: "paused", question: outcome.question };
    case "parked":
      return { kind: "parked", park: outcome.park };
    case "stopped":
      return { kind: "cancelled" };
    default:
      return outcome satisfies never;
  }
}

/** The crash of a run whose thread ended: by its own code, by that of another run, or by code that cannot be told. */
function crashOf({ cause, details, run: culprit }: Ended, run: number): Ending {
  if (culprit === run) return { kind: "crashed", cause, details };
  if (culprit === null) return { kind: "crashed", cause, details: { ...details, fault: "unknown" } };
  return { kind: "crashed", cause: `stopped with run ${culprit}: ${cause}`, details: { fault: "other", stopped_with: culprit } };
}

function durableFacts({ durable, lease, park_after_secs }: WorkItem): { durable?: DurableFacts } {
  if (durable == null || lease == null) return {};
  const { lineage_id: lineageId, steps, waits } = durable;
  return { durable: { lineageId, steps, waits, lease, parkAfterSecs: park_after_secs ?? durable.park_after_secs } };
}
