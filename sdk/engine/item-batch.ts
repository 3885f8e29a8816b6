/** Batches report items on their way from the user thread to the control thread. */
import type { ReportItem } from "../execution/report-item.ts";

/** Length of the windows in which messages are counted. */
const WINDOW_MS = 10;

/** Items of a window that are posted singly and at once; further items are batched. One post costs some 7 us. */
const SINGLE_POSTS_MAX = 32;

/** Most items in one message. */
const POST_ITEMS_MAX = 256;

/**
 * Passes report items from the user thread to the control thread. A few items are posted at once, so that the control thread
 * has the reports of code that then blocks the user thread; many items are posted in batches.
 */
export class ItemBatch {
  readonly #post: (items: ReportItem[]) => void;
  #items: ReportItem[] = [];
  #windowMs = 0;
  #posts = 0;
  #scheduled = false;

  constructor(post: (items: ReportItem[]) => void) {
    this.#post = post;
  }

  add(item: ReportItem): void {
    this.#items.push(item);
    const nowMs = performance.now();
    if (nowMs - this.#windowMs >= WINDOW_MS) {
      this.#windowMs = nowMs;
      this.#posts = 0;
    }
    if (this.#posts < SINGLE_POSTS_MAX || this.#items.length >= POST_ITEMS_MAX) {
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

  flush(): void {
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#post(items);
  }
}
