/** `client.taskRuns`: everything under /api/task-runs. */

import type { TaskRunsQuery } from "#protocol/records/task-run";
import type { Http } from "./http.ts";
import { Listing, type ListOptions, type Page } from "./listing.ts";
import type { ArtifactRow, FilterOf, Log, TaskRun } from "./records.ts";
import type { LogFilter } from "./runs.ts";

/** Filters of the task run list; all must match. Times are microseconds. */
export type TaskRunFilter = FilterOf<TaskRunsQuery>;

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

  /** A task run by its id. @throws MillraceError 404. */
  get(id: number): Promise<TaskRun> {
    return this.#http.get<TaskRun>(`/api/task-runs/${id}`);
  }

  /** The artifacts that a task run has published, oldest first. */
  artifacts(id: number): Promise<ArtifactRow[]> {
    return this.#http.get<ArtifactRow[]>(`/api/task-runs/${id}/artifacts`);
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
