/** One page as the server gives it. */
export interface Page<T> {
  items: T[];
  /** Passed back for the page after this one; null on the last. */
  next_cursor?: number | null | undefined;
}

/** How a list is read; nothing here changes what is in it. */
export interface ListOptions {
  /** Items per request; the server has a default and a maximum for each list. */
  pageSize?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * A list of the server, read page by page while it is iterated: `for await (const run of client.runs.list()) ...`.
 * Each iteration starts anew. Leaving the loop asks for no further pages.
 */
export class Listing<T> implements AsyncIterable<T> {
  readonly #read: (cursor: number | null) => Promise<Page<T>>;

  constructor(read: (cursor: number | null) => Promise<Page<T>>) {
    this.#read = read;
  }

  /** One page: the first, or the one after a cursor. */
  page(cursor: number | null = null): Promise<Page<T>> {
    return this.#read(cursor);
  }

  async *pages(): AsyncGenerator<T[]> {
    let cursor: number | null = null;
    do {
      const page: Page<T> = await this.#read(cursor);
      yield page.items;
      cursor = page.next_cursor ?? null;
    } while (cursor !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const items of this.pages()) yield* items;
  }

  /** At most `count` items from the start. */
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
