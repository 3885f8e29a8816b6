import type { ReportItem } from "../report-item.ts";

/** Items are posted at least this often while the thread is busy without a pause. */
const POST_MS = 10;

/** Items posted at once at most. */
const POST_ITEMS_MAX = 256;

/**
 * Collects report items in the user thread and posts them in batches: when the current turn of the event loop ends,
 * and from within a long turn too, so that a thread that must be stopped leaves no more than a moment unreported.
 */
export class ItemBatch {
  readonly #post: (items: ReportItem[]) => void;
  #items: ReportItem[] = [];
  #postedMs = 0;
  #scheduled = false;

  constructor(post: (items: ReportItem[]) => void) {
    this.#post = post;
  }

  add(item: ReportItem): void {
    this.#items.push(item);
    if (this.#items.length >= POST_ITEMS_MAX || performance.now() - this.#postedMs >= POST_MS) {
      this.flush();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }

  flush(): void {
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#postedMs = performance.now();
    this.#post(items);
  }
}
