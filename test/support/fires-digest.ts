/** Prints the fires of many schedules as one line; run with different process zones, which must not change the line. */
import { readSpec } from "#actors/scheduler/recurrence/spec";
import type { Schedule } from "#protocol/records/schedule";
import { EXPRESSIONS } from "./cron-oracle.ts";

const ZONES = ["UTC", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe", "Europe/Berlin", "Pacific/Apia"];
const RULES = [
  "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=9",
  "DTSTART;TZID=America/New_York:20260101T013000\nRRULE:FREQ=DAILY",
  "DTSTART:20260101T023000\nRRULE:FREQ=WEEKLY;BYDAY=SU;UNTIL=20270101T000000Z",
  "DTSTART;TZID=Australia/Lord_Howe:20260101T021500\nRRULE:FREQ=HOURLY;INTERVAL=5",
  "DTSTART;VALUE=DATE:20260131\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1",
];

const start = Date.UTC(2026, 0, 1) * 1000;
const schedules: Schedule[] = ZONES.flatMap((timezone): Schedule[] => [
  ...EXPRESSIONS.map(({ text, dayOr }) => ({ kind: "cron", cron: text, day_or: dayOr, timezone }) as const),
  ...RULES.map((rrule) => ({ kind: "rrule", rrule, timezone }) as const),
  ...[90, 86_400, 129_600, 604_800].map(
    (interval) => ({ kind: "interval", interval, timezone, anchor: start + 9_000_000_000 }) as const,
  ),
]);

const fires = schedules.map((schedule) => {
  const read = readSpec(schedule, { timezone: "UTC", anchorUs: 0 });
  return read.ok ? read.ready.fires.after(start, 500) : read.error;
});
process.stdout.write(JSON.stringify(fires));
