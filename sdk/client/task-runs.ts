/** `client.taskRuns`: everything under /api/task-runs. */

import type { Http } from "./http.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type { Artifact, Log, StateType, TaskRun } from "./records.ts";
import type { LogFilter } from "./runs.ts";

/** Filters of the task run list; all must hold. Times are microseconds. */
export interface TaskRunFilter {
  run_id?: number | undefined;
  project?: string | undefined;
  flow?: string | undefined;
  state_type?: StateType | undefined;
  state_name?: string | undefined;
  name?: string | undefined;
  start_after?: number | undefined;
  start_before?: number | undefined;
}

export class TaskRuns {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Task runs of all runs, newest first. */
  list(filter: TaskRunFilter = {}, options: ListOptions = {}): Listing<TaskRun> {
    return new Listing((cursor) =>
      this.#http.get<Page<TaskRun>>("/api/task-runs", { ...filter, limit: options.pageSize, cursor }, options.signal),
    );
  }

  /** @throws MillraceError 404. */
  get(id: number): Promise<TaskRun> {
    return this.#http.get<TaskRun>(`/api/task-runs/${id}`);
  }

  artifacts(id: number): Promise<Artifact[]> {
    return this.#http.get<Artifact[]>(`/api/task-runs/${id}/artifacts`);
  }

  /** Log lines of one task run, oldest first. */
  logs(id: number, filter: LogFilter = {}, options: ListOptions = {}): Listing<Log> {
    return new Listing((cursor) =>
      this.#http.get<Page<Log>>(
        `/api/task-runs/${id}/logs`,
        { ...filter, after: cursor ?? filter.after, limit: options.pageSize },
        options.signal,
      ),
    );
  }
}
