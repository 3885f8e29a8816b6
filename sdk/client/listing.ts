/** One page of a list. */
export interface Page<T> {
  /** The records of the page. */
  items: T[];
  /** Pass this back for the next page; null on the last page. */
  next_cursor?: number | null | undefined;
}

/** How a list is read; these options do not change its content. */
export interface ListOptions {
  /** Items per request; the server has a default and a maximum for each list. */
  pageSize?: number | undefined;
  /** Ends the requests of the iteration, which then throws. */
  signal?: AbortSignal | undefined;
}

/**
 * A list of the server, read page by page while it is iterated: `for await (const run of client.runs.list()) ...`. Each
 * iteration starts from the first page. Leaving the loop requests no further pages.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Millrace } from "millrace/client";
 *
 * const client = new Millrace();
 * for await (const run of client.runs.list({ project: "shop" }, { pageSize: 100 })) console.log(run.name, run.state.name);
 *
 * const newest = await client.events.list().first(10);
 * assert.ok(newest.length > 0);
 * ```
 */
export class Listing<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #read: (cursor: number | null) => Promise<P>;

  constructor(read: (cursor: number | null) => Promise<P>) {
    this.#read = read;
  }

  /** One page: the first, or the one after a cursor. */
  page(cursor: number | null = null): Promise<P> {
    return this.#read(cursor);
  }

  /** The items, page by page. */
  async *pages(): AsyncGenerator<T[]> {
    let cursor: number | null = null;
    do {
      const page: P = await this.#read(cursor);
      yield page.items;
      cursor = page.next_cursor ?? null;
    } while (cursor !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const items of this.pages()) yield* items;
  }

  /** At most the first `count` items. */
  async first(count: number): Promise<T[]> {
    const taken: T[] = [];
    if (count <= 0) return taken;
    for await (const items of this.pages()) {
      taken.push(...items.slice(0, count - taken.length));
      if (taken.length >= count) break;
    }
    return taken;
  }
}
