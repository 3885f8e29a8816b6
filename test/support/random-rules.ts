/** Recurrence rules drawn from a seed: every part, in valid combinations, and times at which clocks change. */
import fc from "fast-check";

const DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

function list<T>(values: readonly T[], most = 3): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: most })
    .map((chosen) => [...chosen].sort((a, b) => values.indexOf(a) - values.indexOf(b)).join(","));
}

const part = (name: string, values: fc.Arbitrary<string>): fc.Arbitrary<string> => values.map((text) => `;${name}=${text}`);
const perhaps = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(""), text);
const rarely = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant("") }, { weight: 1, arbitrary: text });
const together = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> => fc.tuple(...parts).map((texts) => texts.join(""));

const monthDays = part("BYMONTHDAY", list([1, 2, 13, 29, 30, 31, -2, -1]));
const plainDays = part("BYDAY", list(DAYS));
const numberedDays = part("BYDAY", list(["1MO", "2TU", "2SU", "-1FR", "-1SU", "4SU", "5WE", "-2SA"], 2));
const yearDays = part("BYYEARDAY", list([1, 60, 100, 200, 366, -366, -1]));
const weekStart = part("WKST", fc.constantFrom(...DAYS));
const weeks = together(part("BYWEEKNO", list([1, 13, 20, 44, 52, 53, -1])), perhaps(plainDays), perhaps(weekStart));

const bodies: Record<string, fc.Arbitrary<string>> = {
  YEARLY: perhaps(fc.oneof(monthDays, plainDays, numberedDays, yearDays, weeks)),
  MONTHLY: perhaps(fc.oneof(monthDays, plainDays, numberedDays)),
  WEEKLY: together(perhaps(plainDays), perhaps(weekStart)),
  DAILY: together(perhaps(plainDays), perhaps(monthDays)),
  HOURLY: together(perhaps(plainDays), rarely(monthDays)),
  MINUTELY: together(perhaps(plainDays), rarely(monthDays)),
};

const rest = together(
  perhaps(part("INTERVAL", fc.integer({ min: 1, max: 4 }).map(String))),
  rarely(part("BYMONTH", list([1, 2, 3, 6, 10, 11, 12]))),
  perhaps(part("BYHOUR", list([0, 1, 2, 3, 6, 9, 12, 23]))),
  perhaps(part("BYMINUTE", list([0, 15, 30, 59]))),
  rarely(part("BYSECOND", list([0, 30]))),
  perhaps(fc.oneof(part("COUNT", fc.integer({ min: 1, max: 20 }).map(String)), fc.constant(";UNTIL=20290301T120000Z"))),
);

const start = fc
  .tuple(
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 28 }),
    fc.constantFrom("003000", "013000", "021500", "023000", "040000", "093000", "170000"),
  )
  .map(([month, day, time]) => `2026${String(month).padStart(2, "0")}${String(day).padStart(2, "0")}T${time}`);

export interface RandomRule {
  /** Wall time of DTSTART, without a zone. */
  start: string;
  rule: string;
}

/**
 * Positions need another part. They are not drawn with weeks, whose days around a new year are counted differently by other
 * implementations.
 */
function withPositions(rule: string): fc.Arbitrary<string> {
  if (!/;BY/.test(rule) || /BYWEEKNO/.test(rule)) return fc.constant(rule);
  return rarely(part("BYSETPOS", list([1, 2, 3, -1, -2]))).map((positions) => rule + positions);
}

function rulesOf(frequencies: readonly string[]): fc.Arbitrary<RandomRule> {
  return fc
    .constantFrom(...frequencies)
    .chain((freq) => together(fc.constant(`FREQ=${freq}`), bodies[freq] ?? fc.constant(""), rest))
    .chain((rule) => fc.record({ start, rule: withPositions(rule) }));
}

/** Rules of whole days and more. */
export const randomDayRules = rulesOf(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]);
/** Rules of every frequency. */
export const randomRules = rulesOf(Object.keys(bodies));
