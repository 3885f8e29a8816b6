/** Batches news of runs on their way from the user thread to the control thread. */
import type { ReportItem } from "../execution/report-item.ts";
import type { RunNews } from "./user-thread-api.ts";

/** Length of the windows in which messages are counted. */
const WINDOW_MS = 10;

/**
 * Messages of a window that are posted at once while one run executes, divided by the runs that do; later news of the window is
 * batched. One post costs some 7 us, and wakes the other thread.
 */
const SINGLE_POSTS_MAX = 32;

/** Approximate size of a log line without its text. */
const LINE_CHARS = 200;

/** Characters of the log lines in news. */
export function logCharsOf(news: readonly RunNews[]): number {
  let chars = 0;
  for (const each of news) {
    if (!("items" in each)) continue;
    for (const item of each.items)
      if (item.kind === "logs") for (const line of item.logs) chars += line.message.length + LINE_CHARS;
  }
  return chars;
}

/** Most items in one message. */
const POST_ITEMS_MAX = 256;

/**
 * Passes report items and outcomes from the user thread to the control thread, in order. A few are posted at once, so that the
 * control thread has the reports of code that then blocks the user thread; many are posted in batches.
 */
export class ItemBatch {
  readonly #post: (news: RunNews[]) => void;
  readonly #runs: () => number;
  #news: RunNews[] = [];
  #count = 0;
  #windowMs = 0;
  #posts = 0;
  #scheduled = false;

  /** @param runs number of runs that execute now */
  constructor(post: (news: RunNews[]) => void, runs: () => number) {
    this.#post = post;
    this.#runs = runs;
  }

  add(run: number, item: ReportItem): void {
    const last = this.#news.at(-1);
    if (last !== undefined && "items" in last && last.run === run) last.items.push(item);
    else this.#news.push({ run, items: [item] });
    this.#added();
  }

  /** News beside items: they leave with everything before them. */
  addNews(news: RunNews): void {
    this.#news.push(news);
    this.#added();
  }

  flush(): void {
    if (this.#news.length === 0) return;
    const news = this.#news;
    this.#news = [];
    this.#count = 0;
    this.#post(news);
  }

  #added(): void {
    this.#count += 1;
    const nowMs = performance.now();
    if (nowMs - this.#windowMs >= WINDOW_MS) {
      this.#windowMs = nowMs;
      this.#posts = 0;
    }
    if (this.#posts < SINGLE_POSTS_MAX / Math.max(1, this.#runs()) || this.#count >= POST_ITEMS_MAX) {
      this.#posts += 1;
      this.flush();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }
}
