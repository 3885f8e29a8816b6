/** The lines of a run's log: read from the beginning in pages, then live. */
import { signal } from "@preact/signals";
import type { Log, LogsPage } from "#protocol/records/log";
import { type ApiError, ask, isAbort, withQuery } from "../../../api/client.ts";
import { linkTried, onLive, onReset } from "../../../live/link.ts";

const PAGE = 5_000;
/** Lines that are kept; of a longer log the end is kept. */
const LINES_MAX = 200_000;

export interface LogFilter {
  runId: number;
  level: string;
  search: string;
}

export class LogLines {
  readonly lines = signal<readonly Log[]>([]);
  readonly error = signal<ApiError | null>(null);
  /** Number of dropped lines at the beginning. */
  readonly left = signal(0);
  /** True when every stored line has been read. */
  readonly complete = signal(false);
  readonly #filter: LogFilter;
  readonly #abort = new AbortController();
  readonly #ends: (() => void)[];
  #reading = false;
  #again = false;

  constructor(filter: LogFilter) {
    this.#filter = filter;
    this.#ends = [onLive("log.appended", () => this.read(), filter.runId), onReset(() => this.read())];
    this.read();
  }

  /** Reads the lines after the last one. */
  async read(): Promise<void> {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    this.#reading = true;
    try {
      await linkTried();
      await this.#readPages();
      this.error.value = null;
    } catch (cause) {
      if (!isAbort(cause)) this.error.value = cause as ApiError;
    }
    this.#reading = false;
    if (this.#again && !this.#abort.signal.aborted) {
      this.#again = false;
      this.read();
    }
  }

  end(): void {
    this.#abort.abort();
    for (const end of this.#ends) end();
  }

  async #readPages(): Promise<void> {
    for (;;) {
      const { runId, level, search } = this.#filter;
      const after = this.lines.peek().at(-1)?.id ?? null;
      const path = withQuery(`/api/runs/${runId}/logs`, { after, level, search, limit: PAGE });
      const { items, next_cursor } = await ask<LogsPage>(path, { signal: this.#abort.signal });
      if (this.#abort.signal.aborted) return;
      if (items.length > 0) this.#add(items);
      if (next_cursor === null || next_cursor === undefined) break;
    }
    this.complete.value = true;
  }

  #add(items: readonly Log[]): void {
    const lines = [...this.lines.peek(), ...items];
    const over = Math.max(0, lines.length - LINES_MAX);
    this.lines.value = over === 0 ? lines : lines.slice(over);
    this.left.value += over;
  }
}
