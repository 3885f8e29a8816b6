/** Log lines of runs and task runs. */
import Type, { type Static } from "typebox";
import { LOG_SEARCH_PAGE, LOGS_PAGE, SEARCH_LENGTH_MAX } from "../limits.ts";
import { pageLimit, pageOf } from "../routes/page.ts";
import { about, Int32, Int64, nullable, sent, Timestamp } from "../values/scalar.ts";

/** Level words and their numbers; WARN is read as WARNING. */
export const LOG_LEVELS = { DEBUG: 10, INFO: 20, WARNING: 30, WARN: 30, ERROR: 40, CRITICAL: 50 } as const;

const fields = {
  id: Int64,
  run_id: Int64,
  task_run_id: Type.Optional(nullable(Int64)),
  level: Int32,
  logger: Type.String(),
  message: Type.String(),
  timestamp: Timestamp,
};

/** One log line. */
export const Log = sent(Type.Object(fields, { title: "Log" }));
export type Log = Static<typeof Log>;

/** Log lines, oldest first; pass `next_cursor` back as `after`. The last lines (`tail`) have no next page. */
export const LogsPage = pageOf("LogsPage", Log);
export type LogsPage = Static<typeof LogsPage>;

const LowestLevel = Type.Optional(
  Type.Unsafe<number>({
    type: "string",
    format: "log-level",
    description: "Lowest level: a number or DEBUG, INFO, WARNING, ERROR, CRITICAL",
  }),
);

/** Query of the two log listings. */
export const LogsQuery = Type.Object({
  after: Type.Optional(Int64),
  level: LowestLevel,
  search: Type.Optional(Type.String({ description: "Part of the message, case ignored" })),
  tail: Type.Optional(Type.Boolean({ description: "The last lines instead of the first ones; still oldest first" })),
  limit: pageLimit(LOGS_PAGE),
});
export type LogsQuery = Static<typeof LogsQuery>;

/** A log line found by a search, with the run it belongs to. */
export const FoundLog = sent(
  Type.Object({ ...fields, run_name: Type.String(), flow_name: Type.String(), project: Type.String() }, { title: "FoundLog" }),
);
export type FoundLog = Static<typeof FoundLog>;

/** Log lines of all runs, newest first. A page may end with fewer lines than requested; pass `next_cursor` back as `after`. */
export const LogSearchPage = sent(
  Type.Object(
    {
      items: Type.Array(FoundLog),
      next_cursor: nullable(about("Where the search continues; null when the whole log has been searched", Int64)),
      lines_searched: about("Lines in the part of the log that this page has searched", Int64),
      searched_until: nullable(about("Time of the oldest line searched; null when the whole log has been searched", Timestamp)),
    },
    { title: "LogSearchPage" },
  ),
);
export type LogSearchPage = Static<typeof LogSearchPage>;

/** Query of GET /api/logs; all filters must match. */
export const LogSearchQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX, description: "Part of the message, case ignored" })),
  flow_id: Type.Optional(Int64),
  project: Type.Optional(about("Only runs of flows of this project", Type.String())),
  run_id: Type.Optional(Int64),
  level: LowestLevel,
  after: Type.Optional(about("Only lines older than this id", Int64)),
  limit: pageLimit(LOG_SEARCH_PAGE),
});
export type LogSearchQuery = Static<typeof LogSearchQuery>;
