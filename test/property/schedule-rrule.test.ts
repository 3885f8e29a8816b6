import fc from "fast-check";
import rruleModule from "rrule";
import t from "tap";
import { RecurrenceFires } from "#actors/scheduler/recurrence/rrule";
import { parseRecurrence } from "#actors/scheduler/recurrence/rrule-parse";
import { findZone, type Zone } from "#actors/scheduler/recurrence/zone";
import { randomDayRules, randomRules } from "../support/random-rules.ts";
import { compareRecurrence, RULE_ZONES } from "../support/recurrence-check.ts";

const { rrulestr } = rruleModule;
const US = 1000;

function zone(name: string): Zone {
  const found = findZone(name);
  if (found === null) throw new Error(name);
  return found;
}

function fires(text: string, count: number, after = 0): number[] {
  const rule = parseRecurrence(text);
  return new RecurrenceFires(rule, zone(rule.timezone ?? "UTC")).after(after, count);
}

function times(text: string, count: number): string[] {
  return fires(text, count).map((us) => new Date(us / US).toISOString().replace(".000Z", "Z"));
}

t.test("the same fires as rrule, in UTC where that one is right", async (t) => {
  for (const { start, rule } of fc.sample(randomDayRules, { numRuns: 300, seed: 5545 })) {
    // If BYSETPOS names a fire twice, their implementation repeats it; for a week without a day it uses all seven days
    // instead of DTSTART's.
    if (/BYSETPOS.*,/.test(rule) || (/BYWEEKNO/.test(rule) && !/BYDAY/.test(rule))) continue;
    const text = `DTSTART:${start}Z\nRRULE:${rule}`;
    // It searches up to the year 9999 for rules that never fire.
    if (fires(text, 1).length === 0) continue;
    const wanted: number[] = [];
    rrulestr(text).all((date: Date) => {
      wanted.push(date.getTime() * US);
      return wanted.length < 30;
    });
    // Their search ends at the year 9999, ours earlier.
    const expected = wanted
      .sort((a, b) => a - b)
      .slice(0, 30)
      .filter(Number.isSafeInteger);
    t.same(fires(text, expected.length < 30 ? 30 : expected.length), expected, text, { diagnostic: false });
  }
});

/** A sample of the comparison in test/slow/rrule-temporal.test.ts, which names the cases that differ. */
t.test("the same fires as rrule-temporal, in every zone", async (t) => {
  for (const [rule, zone] of fc.sample(fc.tuple(randomRules, fc.constantFrom(...RULE_ZONES)), { numRuns: 300, seed: 7529 }))
    t.equal(compareRecurrence(rule, zone).difference, null, `${rule.rule} in ${zone}`);
});

t.test("a rule in a zone: a gap moves the fire to its end, an overlap fires once", async (t) => {
  t.same(times("DTSTART;TZID=Europe/Berlin:20260328T023000\nRRULE:FREQ=DAILY", 3), [
    "2026-03-28T01:30:00Z",
    "2026-03-29T01:00:00Z",
    "2026-03-30T00:30:00Z",
  ]);
  t.same(times("DTSTART;TZID=Europe/Berlin:20261024T023000\nRRULE:FREQ=DAILY", 3), [
    "2026-10-24T00:30:00Z",
    "2026-10-25T00:30:00Z",
    "2026-10-26T01:30:00Z",
  ]);
  t.same(times("DTSTART;TZID=Europe/Berlin:20261025T010000\nRRULE:FREQ=HOURLY;COUNT=4", 9), [
    "2026-10-24T23:00:00Z",
    "2026-10-25T00:00:00Z",
    "2026-10-25T01:00:00Z",
    "2026-10-25T02:00:00Z",
  ]);
});

t.test("COUNT and UNTIL, the last fire included", async (t) => {
  t.equal(fires("DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=3", 20).length, 3);
  t.same(fires("DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=3", 20, Date.UTC(2026, 0, 3, 9) * US), []);
  t.equal(fires("DTSTART;TZID=Europe/Paris:20260101T090000\nRRULE:FREQ=DAILY;UNTIL=20260103T080000Z", 20).length, 3);
  t.equal(fires("DTSTART;TZID=Europe/Paris:20260101T090000\nRRULE:FREQ=DAILY;UNTIL=20260103", 20).length, 3);
  t.equal(fires("DTSTART:20260101T090000Z\nRRULE:FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", 5).length, 5);
});

t.test("a search for a fire that never comes ends", async (t) => {
  const never = [
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31",
    "FREQ=HOURLY;INTERVAL=2;BYHOUR=1",
    "FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1",
    "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=MINUTELY;BYHOUR=5;BYMONTH=4;BYMONTHDAY=31",
  ];
  for (const rule of never) t.same(fires(`DTSTART:20260101T000000Z\nRRULE:${rule}`, 3), [], rule);
});

t.test("a rule from long ago goes on in step with its start", async (t) => {
  const stepUs = 7 * 60_000_000;
  const now = Date.UTC(2026, 0, 1) * US;
  const since = fires("DTSTART;TZID=Europe/Berlin:19700101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=7", 100, now);
  const first = Math.ceil((now + 1 + 3_600_000_000) / stepUs) * stepUs - 3_600_000_000;
  t.same(
    since,
    Array.from({ length: 100 }, (_, index) => first + index * stepUs),
  );
});

t.test("what is not in the grammar is refused", async (t) => {
  const wrong: [string, RegExp][] = [
    ["nope", /must include DTSTART/],
    ["RRULE:FREQ=DAILY", /rrule must include DTSTART/],
    ["DTSTART:20260101T090000Z", /must include a rule/],
    ["DTSTART:20260230T090000Z\nRRULE:FREQ=DAILY", /does not exist/],
    ["DTSTART:20260101T090000Z\nRRULE:INTERVAL=2", /FREQ is missing/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=SECONDLY", /FREQ must be one of/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;INTERVAL=0", /INTERVAL must be/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;INTERVAL=-1", /INTERVAL must be/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYHOUR=25", /BYHOUR: 25 is out of range/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYMONTH=13", /BYMONTH: 13 is out of range/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYDAY=XX", /is not one of/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;BYDAY=1MO", /no meaning/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101T000000Z", /exclude each other/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;X=1", /unknown part X/],
    ["DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY\nEXDATE:20260102T090000Z", /one rule is expected/],
    ["DTSTART;TZID=Europe/Paris:20260101T090000Z\nRRULE:FREQ=DAILY", /has no TZID/],
  ];
  for (const [text, error] of wrong) t.throws(() => parseRecurrence(text), { message: error }, text);
});
