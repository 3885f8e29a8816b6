/** `client.logs`: log lines of all runs. */

import type { LogSearchPage, LogSearchQuery } from "#protocol/records/log";
import type { Http } from "./http.ts";
import { Listing, type ListOptions } from "./listing.ts";
import type { FilterOf, FoundLog } from "./records.ts";

/**
 * Filters of a search; all must match. `q` is part of the message in any case, `level` the lowest level: a number, or DEBUG,
 * INFO, WARNING, ERROR, CRITICAL.
 */
export type LogSearchFilter = Omit<FilterOf<LogSearchQuery>, "after" | "level"> & { level?: number | string | undefined };

export class Logs {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Log lines that match, newest first. Each page searches a bounded part of the log and says how far it came
   * (`lines_searched`, `searched_until`), so a page may be empty although more lines follow; an iteration continues to the end
   * of the log.
   */
  search(filter: LogSearchFilter = {}, options: ListOptions = {}): Listing<FoundLog, LogSearchPage> {
    return new Listing((cursor) =>
      this.#http.get<LogSearchPage>("/api/logs", { ...filter, limit: options.pageSize, after: cursor }, options.signal),
    );
  }
}
