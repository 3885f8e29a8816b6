/** Follows one run to its end: prints its log lines as they arrive, and on a terminal its current activity. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ArtifactRow } from "#protocol/records/artifact";
import type { Log } from "#protocol/records/log";
import { isProgress, progressOf, progressText } from "#protocol/records/run-progress";
import { hasEnded, type LogFilter, type Millrace, ResultLostError, type Run, type TaskRun } from "#sdk/client/index";
import { wayOn } from "../runs/run-details.ts";
import { counted, duration, stateText } from "../terminal/format.ts";
import { renderLog } from "../terminal/log-lines.ts";
import { messageOf } from "../terminal/outcome-lines.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";

/** Time to wait for the last log lines, which may be stored just after the end of the run. */
const LAST_LINES_MS = 300;
const RETRY_FOR_MS = 60_000;
/** How often the reason of a wait is requested; an engine that cannot start ends within a second. */
const EXPLAIN_MS = 1_000;

/** The messages about a run that are shown. */
const FOLLOWED = ["run.updated", "task_run.updated", "log.appended", "artifact.updated"] as const;

export interface FollowOptions {
  /** Destination of log lines; null prints none. */
  log: Terminal | null;
  /** Destination of the progress line; null shows none. */
  progress: Terminal | null;
  /** Filter of the log lines. */
  filter?: Omit<LogFilter, "after">;
}

export class RunFollower {
  readonly #client: Millrace;
  readonly #runId: number;
  readonly #options: FollowOptions;
  readonly #line: ProgressLine | null;
  readonly #tasks = new Map<number, TaskRun>();
  readonly #taskNames = new Map<number, string>();
  /** Progress of the flow and its tasks, from progress(), by the id of the artifact. */
  readonly #progress = new Map<number, ArtifactRow>();
  #lastLog = 0;
  #reading: Promise<void> = Promise.resolve();
  #run: Run | null = null;
  #told: string | null = null;
  #asking = false;
  #stopped = false;

  constructor(client: Millrace, runId: number, options: FollowOptions) {
    this.#client = client;
    this.#runId = runId;
    this.#options = options;
    this.#line = options.progress === null ? null : new ProgressLine(options.progress);
  }

  /** Resolves with the ended run, after its last log line. */
  async untilEnd(): Promise<Run> {
    const stop = new AbortController();
    const listening = this.#listen(stop.signal);
    try {
      // Listening ends with the run too; a failure of listening is the failure of this call.
      const ended = await Promise.race([this.#ended(), listening.then(() => this.#ended())]);
      stop.abort();
      await listening.catch(() => {});
      await this.#lastLines();
      return ended;
    } finally {
      stop.abort();
      this.#stopped = true;
      this.#line?.end();
    }
  }

  async #ended(): Promise<Run> {
    try {
      return (await this.#client.waitFor(this.#runId)).run;
    } catch (error) {
      if (error instanceof ResultLostError) return error.run;
      throw error;
    }
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const filter = { run_id: this.#runId, kinds: FOLLOWED };
    for await (const message of this.#client.stream({ ...filter, signal, retryForMs: RETRY_FOR_MS })) {
      if (message.event === "hello" || message.event === "resync") await this.#refresh();
      else if (message.event === "log.appended" && message.data.run_id === this.#runId) void this.#readLogs();
      else if (message.event === "task_run.updated" && message.data.run_id === this.#runId) this.#seeTask(message.data);
      else if (message.event === "artifact.updated" && message.data.run_id === this.#runId) this.#seeArtifact(message.data);
      else if (message.event === "run.updated" && message.data.id === this.#runId && "state" in message.data)
        this.#seeRun(message.data);
      if (this.#run !== null && hasEnded(this.#run)) return;
    }
  }

  async #refresh(): Promise<void> {
    for (const task of await this.#client.runs.tasks(this.#runId)) this.#seeTask(task);
    if (this.#line?.live === true)
      for (const artifact of await this.#client.runs.artifacts(this.#runId)) this.#seeArtifact(artifact);
    this.#seeRun(await this.#client.runs.get(this.#runId));
    void this.#readLogs();
  }

  #seeTask(task: TaskRun): void {
    this.#tasks.set(task.id, task);
    this.#taskNames.set(task.id, task.dynamic_key);
  }

  #seeArtifact(artifact: ArtifactRow): void {
    if (isProgress(artifact)) this.#progress.set(artifact.id, artifact);
  }

  #seeRun(run: Run): void {
    this.#run = run;
    void this.#askWhy();
    this.#line?.show(() => this.#status());
    this.#tellWait(run);
  }

  /** The reason of a wait is printed once, also in a pipe, because no other output shows it. */
  #tellWait(run: Run): void {
    const waits =
      run.state.type === "Paused" ||
      run.state.type === "Crashed" ||
      (run.state.type === "Scheduled" && run.state.message !== null);
    const message = messageOf(run.state);
    const text = waits ? `${run.state.name}${message === null ? "" : `: ${printable(message)}`}` : null;
    if (text === this.#told) return;
    this.#told = text;
    if (text !== null && this.#line !== null && !hasEnded(run)) this.#line.above([text, ...wayOn(run)]);
  }

  /**
   * Prints why no engine takes the run, again when the reason changes. An engine that fails to start changes no run, so the
   * server is polled while the run waits.
   */
  async #askWhy(): Promise<void> {
    if (this.#asking || this.#line === null) return;
    this.#asking = true;
    let said = "";
    while (this.#run?.state.type === "Scheduled" && !this.#stopped) {
      const { reason } = await this.#client.runs.explain(this.#runId).catch(() => ({ reason: null }));
      const lacksEngine = reason?.code === "no_engine_for_module" || reason?.code === "engine_start_failed";
      if (lacksEngine && reason.text !== said) {
        said = reason.text;
        this.#line.above([`Waits: ${printable(said)}`]);
      }
      await sleep(EXPLAIN_MS, undefined, { ref: false });
    }
    this.#asking = false;
  }

  /**
   * One read at a time, so that lines stay in order and are printed once; lines that arrive during a read are in the next one.
   */
  #readLogs(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#readNewLogs());
    // A caller that awaits it sees the failure; other callers see it at the end of the run.
    this.#reading.catch(() => {});
    return this.#reading;
  }

  async #readNewLogs(): Promise<void> {
    const terminal = this.#options.log;
    if (terminal === null) return;
    for await (const logs of this.#client.runs.logs(this.#runId, { ...this.#options.filter, after: this.#lastLog }).pages()) {
      await this.#nameTasks(logs);
      const lines = logs.flatMap((log) => renderLog(log, this.#taskNames, terminal));
      if (this.#line === null) for (const line of lines) terminal.line(line);
      else this.#line.above(lines);
      this.#lastLog = logs.at(-1)?.id ?? this.#lastLog;
    }
  }

  /** A line may arrive before the stream has named its task. */
  async #nameTasks(logs: readonly Log[]): Promise<void> {
    const unnamed = new Set(logs.flatMap(({ task_run_id: id }) => (id === null || this.#taskNames.has(id) ? [] : [id])));
    for (const id of unnamed) {
      const task = await this.#client.taskRuns.get(id).catch(() => null);
      if (task !== null) this.#seeTask(task);
    }
  }

  async #lastLines(): Promise<void> {
    if (this.#options.log === null) return;
    if (this.#taskNames.size === 0) for (const task of await this.#client.runs.tasks(this.#runId)) this.#seeTask(task);
    const before = this.#lastLog;
    await this.#readLogs();
    if (this.#lastLog > before) return;
    await new Promise((resolve) => setTimeout(resolve, LAST_LINES_MS));
    await this.#readLogs();
  }

  #status(): string {
    const run = this.#run;
    if (run === null) return "";
    const sinceUs = run.start_time ?? run.created_at;
    const tasks = [...this.#tasks.values()];
    const ended = tasks.filter((task) => task.end_time !== null).length;
    const running = tasks.filter((task) => task.state.type === "Running").map((task) => printable(task.dynamic_key));
    const parts = [`${stateText(run.state)} ${duration(Date.now() * 1000 - sinceUs)}`];
    const progress = progressOf(this.#progress.values());
    if (progress !== null) parts.push(printable(progressText(progress)));
    if (tasks.length > 0) parts.push(`${ended} of ${counted(tasks.length, "task")}`);
    if (running.length > 0) parts.push(running.join(", "));
    return parts.join("  \u00b7  ");
  }
}
