/** Log lines of runs and task runs. */
import Type, { type Static } from "typebox";
import { LOGS_PAGE } from "../limits.ts";
import { pageLimit, pageOf } from "../routes/page.ts";
import { Int32, Int64, nullable, sent, Timestamp } from "../values/scalar.ts";

/** Level words and their numbers; WARN is read as WARNING. */
export const LOG_LEVELS = { DEBUG: 10, INFO: 20, WARNING: 30, WARN: 30, ERROR: 40, CRITICAL: 50 } as const;

/** One log line. */
export const Log = sent(
  Type.Object(
    {
      id: Int64,
      run_id: Int64,
      task_run_id: Type.Optional(nullable(Int64)),
      level: Int32,
      logger: Type.String(),
      message: Type.String(),
      timestamp: Timestamp,
    },
    { title: "Log" },
  ),
);
export type Log = Static<typeof Log>;

/** Log lines, oldest first; pass `next_cursor` back as `after`. The last lines (`tail`) have no next page. */
export const LogsPage = pageOf("LogsPage", Log);
export type LogsPage = Static<typeof LogsPage>;

/** Query of the two log listings. */
export const LogsQuery = Type.Object({
  after: Type.Optional(Int64),
  level: Type.Optional(
    Type.Unsafe<number>({
      type: "string",
      format: "log-level",
      description: "Lowest level: a number or DEBUG, INFO, WARNING, ERROR, CRITICAL",
    }),
  ),
  search: Type.Optional(Type.String({ description: "Part of the message, case ignored" })),
  tail: Type.Optional(Type.Boolean({ description: "The last lines instead of the first ones; still oldest first" })),
  limit: pageLimit(LOGS_PAGE),
});
export type LogsQuery = Static<typeof LogsQuery>;
