/** Schedules declared with a flow: `schedules: [cron("0 6 * * *", { timezone: "Europe/Berlin" })]`. */
import { SCHEDULE_INTERVAL_SECONDS_MIN } from "#protocol/limits";
import type { CatchupPolicy, ScheduleDecl } from "#protocol/records/schedule";
import { noteUnknownOptions, type OptionNames } from "./declaration-notes.ts";
import { type Duration, parseDuration } from "./duration.ts";

/** Options of every schedule. */
export interface ScheduleOptions {
  /** IANA name. Default: the server's zone. */
  timezone?: string;
  /** What happens to fires missed while the server was down. Default: the server's setting. */
  catchup?: CatchupPolicy;
  /** The most fires that catchup "all" runs. Default 100. */
  catchupMax?: number;
  /**
   * Parameters of the runs, besides the flow's defaults. Texts are templates, rendered for each fire in the schedule's zone:
   * `{ region: "eu", day: "{{ fire.date }}" }`. The server checks them against the flow's schema when the flow is registered.
   */
  parameters?: Record<string, unknown>;
  /** Identifies the schedule among those of the flow across edits of the code. Default: its position in the list. */
  key?: string;
}

/** Options of `cron`. */
export interface CronOptions extends ScheduleOptions {
  /** If day of month and day of week are both restricted: one match suffices (true, the default), or both must match. */
  dayOr?: boolean;
}

/** Options of `every`. */
export interface EveryOptions extends ScheduleOptions {
  /** A time from which the interval counts. Default: when the schedule is first stored. */
  anchor?: Date;
}

/** A declared schedule. */
export interface ScheduleDeclaration {
  /** The schedule as the flow's registration sends it. */
  readonly wire: ScheduleDecl;
}

const NAMES: OptionNames<ScheduleOptions> = { timezone: true, catchup: true, catchupMax: true, parameters: true, key: true };

function policy({ timezone, catchup, catchupMax, parameters, key }: ScheduleOptions) {
  return {
    timezone: timezone ?? null,
    ...(catchup === undefined ? {} : { catchup }),
    ...(catchupMax === undefined ? {} : { catchup_max: catchupMax }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(key === undefined ? {} : { key }),
  };
}

/**
 * Fires by a five-field cron expression. The server checks the expression at its start and shows an error at the flow.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cron, flow } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * export const report = flow(
 *   "report",
 *   { schedules: [cron("0 6 * * 1-5", { timezone: "Europe/Paris" })] },
 *   async () => "sent",
 * );
 *
 * const { result } = await runFlow(report, {}, { fireTime: new Date("2026-01-05T05:00:00Z") });
 * assert.equal(result, "sent");
 * ```
 */
export function cron(expression: string, options: CronOptions = {}): ScheduleDeclaration {
  noteUnknownOptions(`cron("${expression}")`, options, { ...NAMES, dayOr: true });
  return { wire: { kind: "cron", cron: expression, day_or: options.dayOr ?? true, ...policy(options) } };
}

/**
 * Fires at an interval. Whole days keep the time of day in the zone; any other interval is elapsed time.
 * @throws RangeError for an interval below a second.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { every, flow } from "millrace";
 *
 * export const poll = flow("poll", { schedules: [every("15m")] }, async () => "polled");
 *
 * assert.throws(() => every("500ms"), RangeError);
 * ```
 */
export function every(interval: Duration, options: EveryOptions = {}): ScheduleDeclaration {
  const seconds = parseDuration(interval);
  if (seconds <= 0) throw new RangeError("a schedule needs an interval above zero");
  if (seconds < SCHEDULE_INTERVAL_SECONDS_MIN)
    throw new RangeError(
      `a schedule needs an interval of at least ${SCHEDULE_INTERVAL_SECONDS_MIN} s (SCHEDULE_INTERVAL_SECONDS_MIN)`,
    );
  noteUnknownOptions(`every(${JSON.stringify(interval)})`, options, { ...NAMES, anchor: true });
  const anchor = options.anchor === undefined ? {} : { anchor: options.anchor.getTime() * 1000 };
  return { wire: { kind: "interval", interval: seconds, ...anchor, ...policy(options) } };
}

/**
 * Fires by an RFC 5545 rule with DTSTART: "DTSTART;TZID=Europe/Paris:20260101T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO".
 * @example
 * ```ts
 * import { flow, rrule } from "millrace";
 *
 * export const weekly = flow(
 *   "weekly",
 *   { schedules: [rrule("DTSTART;TZID=Europe/Paris:20260101T090000\nRRULE:FREQ=WEEKLY;BYDAY=MO")] },
 *   async () => "done",
 * );
 * ```
 */
export function rrule(rule: string, options: ScheduleOptions = {}): ScheduleDeclaration {
  noteUnknownOptions(`rrule(${JSON.stringify(rule)})`, options, NAMES);
  return { wire: { kind: "rrule", rrule: rule, ...policy(options) } };
}
