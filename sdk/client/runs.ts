/** `client.runs`: everything under /api/runs. */

import type { ArmedWaits, NewWait, Step, Wait } from "#protocol/records/durable";
import type { RunCountsQuery, RunsQuery } from "#protocol/records/run";
import type { Http } from "./http.ts";
import { type CreateOptions, type CreateRunOptions, keyOf } from "./idempotency.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type {
  ArtifactRow,
  CreatedRun,
  CreatedRuns,
  CreateRunBody,
  FilterOf,
  Log,
  Loose,
  PastWait,
  RefusedRun,
  Run,
  RunCounts,
  RunDefaults,
  RunExplanation,
  RunGraph,
  RunOfBatch,
  RunTiming,
  StateType,
  TaskRun,
  TransitionBody,
} from "./records.ts";
import { type EndedRun, type RerunOptions, rerunOf, type WaitOptions, waitForRun } from "./wait.ts";

/** A page of the task runs or artifacts of a run. */
export interface PartOptions {
  /** Only entries with a larger id. */
  after?: number;
  /** Maximum number of entries; a shorter page is the last. Default: all entries. */
  limit?: number;
}

/**
 * Filters of the run list; all must match. `state_type` also matches its sub-states, `name` matches a substring in any case,
 * `tags` must all be present; `start_after` and `start_before` are microseconds. Only the two created_* orders can be read past
 * the first page.
 */
export type RunFilter = FilterOf<RunsQuery>;

/** The same filters, for counting. */
export type RunCountsFilter = Loose<RunCountsQuery>;

/** A run of a flow by name; module and source_dir together register a flow that the server does not know yet. */
export type CreateRun = Loose<CreateRunBody> & { flow: string; project: string };

/** One run of `createMany`: like CreateRun, or with `flow_id` in place of flow and project. */
export type NewRun = Loose<RunOfBatch>;

/** Options of `runs.createMany`. */
export interface CreateManyOptions extends CreateOptions {
  /**
   * Fields for every run that leaves them out, for example flow and project. Parameters are merged by name, and tags are those
   * of both.
   */
  defaults?: Loose<RunDefaults> | undefined;
  /** Create the runs that can be created, instead of none if one is refused. */
  partial?: boolean | undefined;
}

/** Filters of the log of a run. */
export interface LogFilter {
  /** Lines with an id above this one. */
  after?: number | undefined;
  /** Lowest level: a number, or DEBUG, INFO, WARNING, ERROR, CRITICAL. */
  level?: string | number | undefined;
  /** Substring of the message, in any case. */
  search?: string | undefined;
}

/** A state set by hand; with `force` the move is accepted from any state, including ended ones. */
export type Transition = Loose<TransitionBody> & { type: StateType };

export class Runs {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Runs, newest first unless `sort` is set. */
  list(filter: RunFilter = {}, options: ListOptions = {}): Listing<Run> {
    return new Listing((cursor) =>
      this.#http.get<Page<Run>>("/api/runs", { ...filter, limit: options.pageSize, cursor }, options.signal),
    );
  }

  /** Number of matching runs, in total and by state. */
  counts(filter: RunCountsFilter = {}): Promise<RunCounts> {
    return this.#http.get<RunCounts>("/api/runs/counts", filter);
  }

  /**
   * Creates a run of a flow by the flow's name. @throws MillraceError 404 unknown flow without module; 422 parameters that do
   * not fit the flow's schema.
   */
  create(run: CreateRun, options: CreateRunOptions = {}): Promise<Run> {
    const query = { wait_ms: options.waitMs };
    const call = { query, body: run, idempotencyKey: keyOf(options), signal: options.signal };
    return this.#http.json<Run>("POST", "/api/runs", call);
  }

  /**
   * Creates up to 10,000 runs in one commit, in this order: all of them, or none if one is refused. With `partial`, every run
   * that can be created is created, and the entry of each other run is its refusal.
   * @throws MillraceError 404 and 422 with `{error, index}` as body for a refused run; 422 for too many; 413 beyond 8 MiB
   */
  createMany(runs: readonly NewRun[], options?: CreateManyOptions & { partial?: false | undefined }): Promise<CreatedRun[]>;
  /** With `partial`: the entry of a run that was not created is its refusal. */
  createMany(runs: readonly NewRun[], options: CreateManyOptions): Promise<(CreatedRun | RefusedRun)[]>;
  async createMany(runs: readonly NewRun[], options: CreateManyOptions = {}): Promise<(CreatedRun | RefusedRun)[]> {
    const { defaults, partial } = options;
    const call = { body: { runs, defaults, partial }, idempotencyKey: keyOf(options), signal: options.signal };
    const answer = await this.#http.json<CreatedRuns>("POST", "/api/runs/batch", call);
    return answer.runs;
  }

  /** A run by its id. @throws MillraceError 404. */
  get(id: number): Promise<Run> {
    return this.#http.get<Run>(`/api/runs/${id}`);
  }

  /** Ends the run if it is live, and deletes it with its task runs, logs and artifacts. @throws MillraceError 404. */
  async delete(id: number): Promise<void> {
    await this.#http.json<null>("DELETE", `/api/runs/${id}`);
  }

  /** Requests the end of the run; a run that has ended stays as it is. @throws MillraceError 404. */
  cancel(id: number): Promise<Run> {
    return this.#http.json<Run>("POST", `/api/runs/${id}/cancel`, { repeatable: true });
  }

  /** Answers a paused run. @throws MillraceError 404; 409 when the run does not wait for an answer. */
  resume(id: number, input: unknown): Promise<Run> {
    return this.#http.json<Run>("POST", `/api/runs/${id}/resume`, { body: { input } });
  }

  /**
   * Sets the state of a run by hand. @throws MillraceError 404; 409 with `{error, reason, current}` as body when the move is
   * refused.
   */
  transition(id: number, state: Transition): Promise<Run> {
    return this.#http.json<Run>("POST", `/api/runs/${id}/transition`, { body: state });
  }

  /**
   * A new run with the parameters of an ended one. `from` selects the results of a durable run that the new run keeps: "start",
   * "failure", or the dynamic key of a task run. @throws MillraceError 404; 409 for a run that has not ended.
   */
  retry(id: number, options: CreateOptions & { from?: string | undefined } = {}): Promise<Run> {
    const body = options.from === undefined ? undefined : { from: options.from };
    const call = { body, idempotencyKey: keyOf(options), signal: options.signal };
    return this.#http.json<Run>("POST", `/api/runs/${id}/retry`, call);
  }

  /** Why the run waits, what it waits for, and its place in the queue. @throws MillraceError 404. */
  explain(id: number): Promise<RunExplanation> {
    return this.#http.get<RunExplanation>(`/api/runs/${id}/explain`);
  }

  /**
   * What the run waited for, the earliest first: why it started late or was skipped, and which runs were in its way. `at`
   * (microseconds) selects a moment. @throws MillraceError 404.
   */
  waited(id: number, query: { at?: number | undefined } = {}): Promise<PastWait[]> {
    return this.#http.get<PastWait[]>(`/api/runs/${id}/waited`, query);
  }

  /** The stages of the run from its creation to its published end. @throws MillraceError 404. */
  timing(id: number): Promise<RunTiming> {
    return this.#http.get<RunTiming>(`/api/runs/${id}/timing`);
  }

  /** The answers to the run's questions, in order; null is a valid answer. @throws MillraceError 404. */
  async answers(id: number): Promise<unknown[]> {
    const { input, inputs } = await this.#http.get<{ input: unknown; inputs?: unknown[] }>(`/api/runs/${id}/input`);
    // The list is omitted if the newest answer is the only one.
    return inputs ?? (input === null ? [] : [input]);
  }

  /** The stored steps of a durable run, oldest first; only small results are included. @throws MillraceError 404. */
  steps(id: number, options: ListOptions = {}): Listing<Step> {
    return new Listing((after) =>
      this.#http.get<Page<Step>>(`/api/runs/${id}/steps`, { after, limit: options.pageSize }, options.signal),
    );
  }

  /** A stored step with its result. @throws MillraceError 404. */
  step(id: number, identity: string): Promise<Step> {
    return this.#http.get<Step>(`/api/runs/${id}/steps/${identity}`);
  }

  /** What a durable run waits for or has waited for, oldest first. @throws MillraceError 404. */
  waits(id: number, filter: { after?: number } = {}, options: ListOptions = {}): Listing<Wait> {
    return new Listing((cursor) =>
      this.#http.get<Page<Wait>>(
        `/api/runs/${id}/waits`,
        { after: cursor ?? filter.after, limit: options.pageSize },
        options.signal,
      ),
    );
  }

  /**
   * Ends the sleep or the retry delay of a run now. @throws MillraceError 404; 409 for a run that neither sleeps nor waits for
   * a retry.
   */
  wake(id: number): Promise<Run> {
    return this.#http.json<Run>("POST", `/api/runs/${id}/wake`);
  }

  /**
   * Answers a callback of a durable run with any JSON.
   * @param token the last part of the callback's URL
   * @throws MillraceError 404 for a callback that is unknown, answered or over; 413 beyond 64,000 bytes.
   */
  async answerCallback(token: string, value: unknown): Promise<void> {
    await this.#http.json<unknown>("POST", `/api/callbacks/${token}`, { body: value });
  }

  /** @internal Arms waits of a run that an engine holds under this lease. */
  async armWaits(id: number, lease: number, waits: readonly NewWait[]): Promise<Wait[]> {
    const call = { body: { lease, waits }, repeatable: true };
    return (await this.#http.json<ArmedWaits>("POST", `/api/runs/${id}/waits`, call)).waits;
  }

  /** Log lines, oldest first. */
  logs(id: number, filter: LogFilter = {}, options: ListOptions = {}): Listing<Log> {
    return new Listing((cursor) =>
      this.#http.get<Page<Log>>(
        `/api/runs/${id}/logs`,
        { ...filter, after: cursor ?? filter.after, limit: options.pageSize },
        options.signal,
      ),
    );
  }

  /** The run's task runs, oldest first: all of them unless `limit` requests a page after an id. */
  tasks(id: number, page: PartOptions = {}): Promise<TaskRun[]> {
    return this.#http.get<TaskRun[]>(`/api/runs/${id}/tasks`, { ...page });
  }

  /** The task runs of a run as nodes, and which of them waited on which. */
  graph(id: number): Promise<RunGraph> {
    return this.#http.get<RunGraph>(`/api/runs/${id}/graph`);
  }

  /** The run's artifacts, oldest first: all of them unless `limit` requests a page after an id. */
  artifacts(id: number, page: PartOptions = {}): Promise<ArtifactRow[]> {
    return this.#http.get<ArtifactRow[]>(`/api/runs/${id}/artifacts`, { ...page });
  }

  /**
   * Resolves when the run has ended, with the return value of its flow: `waitFor<typeof daily>(id)` types the result by the
   * flow.
   * @throws ResultLostError when the result is not stored; ResultTooLargeError where it is too large
   */
  waitFor<Result = unknown>(id: number, options: WaitOptions = {}): Promise<EndedRun<Result>> {
    return waitForRun<Result>(this.#http, id, options);
  }

  /**
   * The run that repeats a crashed run, once it exists; null for a run that is not run again: one that did not crash, reached its
   * limit of crashes, or belongs to a cancelled backfill. The server creates it some seconds after the crash.
   * @throws MillraceError when the server is not reached for too long
   */
  rerunOf(crashed: Run, options: RerunOptions = {}): Promise<Run | null> {
    return rerunOf(this.#http, crashed, options);
  }
}
