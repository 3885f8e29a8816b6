/**
 * POST /api/engine/exchange: one request carries the reports of all runs of an engine and asks for further runs. An addition of
 * Millrace: engines that use it need no poll, no report and no heartbeat; engines that do not know it never notice.
 */
import Type, { type Static } from "typebox";
import {
  ENGINE_SLOTS_MAX,
  EXCHANGE_BYTES_MAX,
  EXCHANGE_HELD_MAX,
  EXCHANGE_REPORTS_MAX,
  INTEGER_MAX,
  NAME_LENGTH_MAX,
  REPORT_ITEMS_MAX,
  WAIT_MS_MAX,
} from "../limits.ts";
import { about, Count, Int64, sent } from "../values/scalar.ts";
import { EngineIdentity, type ReportEvent, STORED_ORDER, WorkItem } from "./engine.ts";
import { StateTypeSchema } from "./state-schema.ts";

/** A run and the assignment under which the engine holds the run. */
const Held = Type.Object({ run_id: Int64, lease: Int64 });

/** What happened in one run since its last report. Its events are checked alone: a wrong one refuses this report only. */
export const ExchangeReport = Type.Object({
  run_id: Int64,
  lease: Int64,
  events: about(
    "Events as in ReportRequest, in order; `seq` grows within the lease",
    Type.Array(Type.Unsafe<ReportEvent>({ description: `At most ${EXCHANGE_BYTES_MAX} bytes, like the exchange` }), {
      maxItems: REPORT_ITEMS_MAX,
    }),
  ),
  returned: Type.Optional(
    Type.Boolean({ description: "The engine did not begin the run: it goes back to the queue, and no attempt is counted" }),
  ),
});
export type ExchangeReport = Static<typeof ExchangeReport>;

/** Body of POST /api/engine/exchange, at most EXCHANGE_BYTES_MAX; larger reports go to POST /api/engine/report. */
export const ExchangeRequest = Type.Object(
  {
    ...EngineIdentity,
    exchange: Type.Integer({
      format: "int64",
      minimum: 1,
      maximum: INTEGER_MAX,
      description:
        "Grows with every exchange of this engine; the same number again repeats a request whose answer was lost. A newer exchange ends a held one, which is answered without work",
    }),
    slots: Type.Integer({
      minimum: 0,
      maximum: ENGINE_SLOTS_MAX,
      description: "How many further runs the engine takes now; the answer has at most so many",
    }),
    held: about(
      "All runs that the engine holds. A run that it was given and does not list is given again, or crashes after 5 s if the engine had acknowledged it",
      Type.Array(Held, { maxItems: EXCHANGE_HELD_MAX }),
    ),
    reports: about("At most one for each run", Type.Array(ExchangeReport, { maxItems: EXCHANGE_REPORTS_MAX })),
    replace: Type.Optional(
      Type.String({
        maxLength: NAME_LENGTH_MAX,
        description:
          "Why the engine asks to be replaced, for the server's log: the engine continues with runs until it is ordered to exit. For an engine of its own, the server starts the successor first",
      }),
    ),
    hold: Type.Optional(
      Type.Boolean({
        description: `False: answer at once. Else an exchange without reports is held for up to ${WAIT_MS_MAX / 1_000} s until there is work`,
      }),
    ),
    spans: Type.Optional(
      Type.Object(
        { exported: Count, dropped: Count },
        { description: "Spans of traces since the last answered exchange that a collector took, and those that were dropped" },
      ),
    ),
    blocked_secs: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: INTEGER_MAX,
        description:
          "For how long code of a run has held the engine's thread, so that the other runs wait; left out below a second",
      }),
    ),
  },
  { title: "ExchangeRequest", description: `At most ${EXCHANGE_BYTES_MAX} bytes` },
);
export type ExchangeRequest = Static<typeof ExchangeRequest>;

/** What became of one report: as in ReportResponse, or why it was refused. */
export const ExchangeOutcome = Type.Object({
  run_id: Int64,
  lease: Int64,
  applied: Type.Optional(Int64),
  skipped: Type.Optional(Int64),
  last_seq: Type.Optional(Int64),
  fenced: Type.Optional(
    about("Set when the report came under a lease that is over: no move and no step of it was stored", Type.Boolean()),
  ),
  ...STORED_ORDER,
  run_state: Type.Optional(
    Type.Object(
      { type: StateTypeSchema, name: Type.String(), timestamp: Int64 },
      { description: "The run's state after a report with a run_transition or a park" },
    ),
  ),
  status: Type.Optional(Type.Integer({ description: "Set when this report was refused: as POST /api/engine/report answers" })),
  error: Type.Optional(Type.String()),
});
export type ExchangeOutcome = Static<typeof ExchangeOutcome>;

/** A run that the engine is to stop: a cancel was requested, or the engine no longer holds the run. */
export const StopOrder = Type.Object({
  run_id: Int64,
  lease: Int64,
  reason: Type.Unsafe<"cancel" | "gone">({ type: "string", enum: ["cancel", "gone"] }),
});
export type StopOrder = Static<typeof StopOrder>;

/** The answer to an exchange, in the order of the reports. */
export const ExchangeResponse = sent(
  Type.Object(
    {
      exchange: Int64,
      exit: Type.Boolean({ description: "The engine is to leave once its runs have ended" }),
      runs: Type.Array(WorkItem),
      reports: Type.Array(ExchangeOutcome),
      stop: Type.Array(StopOrder),
    },
    { title: "ExchangeResponse" },
  ),
);
export type ExchangeResponse = Static<typeof ExchangeResponse>;
