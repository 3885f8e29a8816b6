/**
 * The task runs of a run: read once, page by page, then updated by the stream, so that ten thousand of them are not read every
 * second. Of very many task runs only the first are shown.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Run } from "#protocol/records/run";
import type { TaskRun } from "#protocol/records/task-run";
import { type ApiError, ask, isAbort, mayPass } from "../../api/client.ts";
import { linkTried, onLive, onReset } from "../../live/link.ts";

/** Messages of the stream within this time are drawn together. */
const DRAW_MS = 250;
/** After a temporary failure. */
const RETRY_MS = 3_000;
/** Task runs per request. */
const PAGE_COUNT = 500;
/** With more the browser would hold more than it can draw. */
export const TASKS_SHOWN_MAX = 20_000;

export interface Tasks {
  /** Oldest first; null until the first answer. */
  tasks: readonly TaskRun[] | null;
  /** The run has more tasks than are shown. */
  more: boolean;
  error: ApiError | null;
  refresh: () => void;
}

/** The heading in place of tasks. */
export function noTasks({ end_time }: Run): string {
  return end_time === null || end_time === undefined ? "No tasks yet" : "No tasks";
}

export function useTasks(runId: number): Tasks {
  const list = useMemo(() => new TaskList(runId), [runId]);
  useEffect(() => () => list.end(), [list]);
  return { tasks: list.tasks.value, more: list.more.value, error: list.error.value, refresh: () => list.load() };
}

class TaskList {
  readonly tasks: ReadonlySignal<readonly TaskRun[] | null>;
  readonly more = signal(false);
  readonly error = signal<ApiError | null>(null);
  readonly #runId: number;
  readonly #tasks = signal<readonly TaskRun[] | null>(null);
  readonly #known = new Map<number, TaskRun>();
  readonly #abort = new AbortController();
  readonly #ends: (() => void)[];
  #drawing = 0;
  #retry = 0;

  constructor(runId: number) {
    this.#runId = runId;
    this.tasks = this.#tasks;
    this.#ends = [onLive("task_run.updated", (task) => this.#take(task), runId), onReset(() => this.load())];
    this.load();
  }

  async load(): Promise<void> {
    try {
      await linkTried();
      let after = 0;
      let isLast = false;
      while (!isLast && this.#known.size < TASKS_SHOWN_MAX) {
        const path = `/api/runs/${this.#runId}/tasks?limit=${PAGE_COUNT}&after=${after}`;
        const page = await ask<TaskRun[]>(path, { signal: this.#abort.signal });
        for (const task of page) this.#keep(task);
        isLast = page.length < PAGE_COUNT;
        after = page.at(-1)?.id ?? after;
      }
      this.more.value = !isLast;
      this.error.value = null;
      this.#draw();
    } catch (cause) {
      if (isAbort(cause)) return;
      this.error.value = cause as ApiError;
      if (mayPass(this.error.value)) this.#retry = window.setTimeout(() => this.load(), RETRY_MS);
    }
  }

  end(): void {
    this.#abort.abort();
    window.clearTimeout(this.#drawing);
    window.clearTimeout(this.#retry);
    for (const end of this.#ends) end();
  }

  #take(task: TaskRun): void {
    this.#keep(task);
    // Before the first answer there is nothing to redraw.
    if (this.#drawing === 0 && this.#tasks.peek() !== null) this.#drawing = window.setTimeout(() => this.#draw(), DRAW_MS);
  }

  /** An answer may be older than messages that the stream delivered while the answer was on its way. */
  #keep(task: TaskRun): void {
    const known = this.#known.get(task.id);
    if (known === undefined && this.more.peek()) return;
    if (known === undefined || known.state.timestamp <= task.state.timestamp) this.#known.set(task.id, task);
  }

  #draw(): void {
    this.#drawing = 0;
    this.#tasks.value = [...this.#known.values()].sort((a, b) => a.id - b.id);
  }
}
