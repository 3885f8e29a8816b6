/** Recurrence rules drawn from a seed: every part, in combinations that mean something. */
import fc from "fast-check";

const DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

function list<T>(values: readonly T[], most = 3): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: most })
    .map((chosen) => [...chosen].sort((a, b) => values.indexOf(a) - values.indexOf(b)).join(","));
}

const part = (name: string, values: fc.Arbitrary<string>): fc.Arbitrary<string> => values.map((text) => `;${name}=${text}`);
const perhaps = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(""), text);

const monthDays = part("BYMONTHDAY", list([1, 2, 13, 29, 30, 31, -2, -1]));
const plainDays = part("BYDAY", list(DAYS));
const numberedDays = part("BYDAY", list(["1MO", "2TU", "-1FR", "4SU", "5WE", "-2SA"], 2));
const yearDays = part("BYYEARDAY", list([1, 60, 100, 200, 366, -366, -1]));

const bodies: Record<string, fc.Arbitrary<string>> = {
  YEARLY: perhaps(fc.oneof(monthDays, plainDays, numberedDays, yearDays)),
  MONTHLY: perhaps(fc.oneof(monthDays, plainDays, numberedDays)),
  WEEKLY: fc.tuple(perhaps(plainDays), perhaps(part("WKST", fc.constantFrom(...DAYS)))).map((parts) => parts.join("")),
  DAILY: fc.tuple(perhaps(plainDays), perhaps(monthDays)).map((parts) => parts.join("")),
};

const rest = fc
  .tuple(
    perhaps(part("INTERVAL", fc.integer({ min: 1, max: 4 }).map(String))),
    perhaps(part("BYMONTH", list([1, 2, 3, 6, 10, 11, 12]))),
    perhaps(part("BYHOUR", list([0, 6, 9, 12, 23]))),
    perhaps(part("BYMINUTE", list([0, 15, 30, 59]))),
    perhaps(fc.oneof(part("COUNT", fc.integer({ min: 1, max: 20 }).map(String)), fc.constant(";UNTIL=20290301T120000Z"))),
  )
  .map((parts) => parts.join(""));

const start = fc
  .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }), fc.constantFrom("040000", "093000", "170000"))
  .map(([month, day, time]) => `2026${String(month).padStart(2, "0")}${String(day).padStart(2, "0")}T${time}`);

export interface RandomRule {
  /** Wall time of DTSTART, without a zone. */
  start: string;
  rule: string;
}

export const randomRules: fc.Arbitrary<RandomRule> = fc
  .constantFrom(...Object.keys(bodies))
  .chain((freq) =>
    fc
      .tuple(start, bodies[freq] ?? fc.constant(""), rest)
      .map(([at, body, more]) => ({ start: at, rule: `FREQ=${freq}${body}${more}` })),
  );
