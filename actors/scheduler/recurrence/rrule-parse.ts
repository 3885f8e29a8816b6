/**
 * RFC 5545 recurrence rules as text: "DTSTART...:..." and "RRULE:..." on separate lines (the prefix RRULE: is optional).
 * Strict: text outside the grammar, values out of range and meaningless combinations are rejected, because a misread rule
 * would fire at the wrong times.
 */
import { civilDate, DAY_US, dayNumber, daysInMonth, HOUR_US, MINUTE_US } from "./calendar.ts";

export const FREQUENCIES = ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"] as const;
export type Frequency = (typeof FREQUENCIES)[number];

export interface RuleParts {
  freq: Frequency;
  interval: number;
  count: number | null;
  until: Until | null;
  /** 0 is Sunday. */
  wkst: number;
  bymonth: number[];
  bymonthday: number[];
  byyearday: number[];
  byweekno: number[];
  byday: { weekday: number; nth: number }[];
  byhour: number[];
  byminute: number[];
  bysecond: number[];
  bysetpos: number[];
}

/** A moment, or a wall time in the zone of DTSTART; `date` if it names a whole day. */
export interface Until {
  us: number;
  form: "moment" | "wall" | "date";
}

export interface Recurrence extends RuleParts {
  /** DTSTART as a wall time. */
  startWall: number;
  /** The zone of DTSTART: TZID, "UTC" for a Z, null for a floating time. */
  timezone: string | null;
}

/** Longest rule: one with every part written out in full is shorter. */
const LENGTH_MAX = 4_000;
/** Maximum of fires of a counted rule, because they are counted from DTSTART at each start of the server. */
export const COUNT_MAX = 10_000;
/** Allowed years of DTSTART and UNTIL. */
const YEARS = [1900, 2999] as const;

const WEEKDAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

/** Lists of numbers: [minimum, maximum, whether negative numbers count from the end]. */
const NUMBERS = {
  BYMONTH: [1, 12, false],
  BYMONTHDAY: [1, 31, true],
  BYYEARDAY: [1, 366, true],
  BYWEEKNO: [1, 53, true],
  BYHOUR: [0, 23, false],
  BYMINUTE: [0, 59, false],
  BYSECOND: [0, 59, false],
  BYSETPOS: [1, 366, true],
} as const satisfies Record<string, readonly [number, number, boolean]>;

/** @throws Error with the reason. */
export function parseRecurrence(text: string): Recurrence {
  if (text.length > LENGTH_MAX) throw new Error(`longer than ${LENGTH_MAX} characters`);
  const lines = text
    .trim()
    .split(/\r?\n|\\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const starts = lines.filter((line) => /^DTSTART/i.test(line));
  const rules = lines.filter((line) => !/^DTSTART/i.test(line));
  const [start] = starts;
  const [rule] = rules;
  if (start === undefined) throw new Error("rrule must include DTSTART");
  if (starts.length > 1) throw new Error("more than one DTSTART");
  if (rule === undefined) throw new Error("rrule must include a rule");
  if (rules.length > 1) throw new Error("one rule is expected, without EXDATE, RDATE or further rules");
  return { ...readStart(start), ...readRule(rule) };
}

function readStart(line: string): { startWall: number; timezone: string | null } {
  const match = /^DTSTART((?:;[^:;]+)*):(.+)$/i.exec(line);
  if (match === null) throw new Error(`DTSTART is not readable: "${line}"`);
  let timezone: string | null = null;
  for (const parameter of (match[1] ?? "").split(";").filter((part) => part !== "")) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.toUpperCase() === "TZID") timezone = value;
    else if (name.toUpperCase() !== "VALUE") throw new Error(`DTSTART: unknown parameter "${name}"`);
  }
  const { us, form } = readTime(match[2] ?? "", "DTSTART");
  if (form === "moment" && timezone !== null) throw new Error("DTSTART: a time in UTC has no TZID");
  return { startWall: us, timezone: form === "moment" ? "UTC" : timezone };
}

function readTime(text: string, name: string): Until {
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/i.exec(text);
  if (match === null) throw new Error(`${name}: "${text}" is not a date or time such as 20260101T090000Z`);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const inRange = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  if (!inRange || hour > 23 || minute > 59 || second > 59) throw new Error(`${name}: "${text}" does not exist`);
  if (year < YEARS[0] || year > YEARS[1]) throw new Error(`${name}: the year must be from ${YEARS[0]} to ${YEARS[1]}`);
  const us = dayNumber(year, month, day) * DAY_US + hour * HOUR_US + minute * MINUTE_US + second * 1_000_000;
  if (match[4] === undefined) return { us, form: "date" };
  return { us, form: match[7] === "" ? "wall" : "moment" };
}

function readRule(line: string): RuleParts {
  const given = new Map<string, string>();
  for (const part of line.replace(/^RRULE:/i, "").split(";")) {
    const match = /^([A-Z]+)=(.+)$/i.exec(part.trim());
    if (match === null) throw new Error(`"${part}" is not a part of a rule`);
    const name = (match[1] ?? "").toUpperCase();
    if (given.has(name)) throw new Error(`${name} is given twice`);
    given.set(name, (match[2] ?? "").toUpperCase());
  }
  const take = (name: string): string | null => {
    const value = given.get(name) ?? null;
    given.delete(name);
    return value;
  };
  const list = (name: keyof typeof NUMBERS): number[] => readNumbers(name, take(name));
  const parts: RuleParts = {
    freq: readFrequency(take("FREQ")),
    interval: readWhole("INTERVAL", take("INTERVAL"), 1, 100_000) ?? 1,
    count: readWhole("COUNT", take("COUNT"), 1, COUNT_MAX),
    until: readUntil(take("UNTIL")),
    wkst: readWeekday("WKST", take("WKST") ?? "MO"),
    bymonth: list("BYMONTH"),
    bymonthday: list("BYMONTHDAY"),
    byyearday: list("BYYEARDAY"),
    byweekno: list("BYWEEKNO"),
    byday: readDays(take("BYDAY")),
    byhour: list("BYHOUR"),
    byminute: list("BYMINUTE"),
    bysecond: list("BYSECOND"),
    bysetpos: list("BYSETPOS"),
  };
  const [unknown] = given.keys();
  if (unknown !== undefined) throw new Error(`unknown part ${unknown}`);
  checkTogether(parts);
  return parts;
}

function readFrequency(text: string | null): Frequency {
  if (text === null) throw new Error("FREQ is missing");
  const known = FREQUENCIES.find((frequency) => frequency === text);
  if (known === undefined) throw new Error(`FREQ must be one of ${FREQUENCIES.join(", ")}, not ${text}`);
  return known;
}

function readWhole(name: string, text: string | null, least: number, most: number): number | null {
  if (text === null) return null;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) throw new Error(`${name} must be a whole number from ${least} to ${most}, not ${text}`);
  return value;
}

function readUntil(text: string | null): Until | null {
  return text === null ? null : readTime(text, "UNTIL");
}

function readWeekday(name: string, text: string): number {
  const index = WEEKDAYS.indexOf(text);
  if (index < 0) throw new Error(`${name}: "${text}" is not one of ${WEEKDAYS.join(", ")}`);
  return index;
}

function readDays(text: string | null): RuleParts["byday"] {
  if (text === null) return [];
  return text.split(",").map((item) => {
    const match = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item);
    if (match === null) throw new Error(`BYDAY: "${item}" is not a weekday such as MO or -1FR`);
    const nth = match[1] === undefined ? 0 : Number(match[1]);
    if (match[1] !== undefined && (nth === 0 || Math.abs(nth) > 53)) throw new Error(`BYDAY: "${item}" is out of range`);
    return { weekday: readWeekday("BYDAY", match[2] ?? ""), nth };
  });
}

function readNumbers(name: keyof typeof NUMBERS, text: string | null): number[] {
  if (text === null) return [];
  const [least, most, negative] = NUMBERS[name];
  const values = text.split(",").map((item) => {
    const value = /^[+-]?\d{1,3}$/.test(item) ? Number(item) : Number.NaN;
    const size = negative ? Math.abs(value) : value;
    if (!(size >= least && size <= most)) throw new Error(`${name}: ${item} is out of range`);
    return value;
  });
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Rejects combinations that the RFC rules out. */
function checkTogether(parts: RuleParts): void {
  const { freq, count, until, byday, byweekno, byyearday, bymonthday, bymonth, byhour, byminute, bysecond, bysetpos } = parts;
  if (count !== null && until !== null) throw new Error("COUNT and UNTIL exclude each other");
  if (byweekno.length > 0 && freq !== "YEARLY") throw new Error("BYWEEKNO needs FREQ=YEARLY");
  if (byyearday.length > 0 && ["MONTHLY", "WEEKLY", "DAILY"].includes(freq))
    throw new Error(`BYYEARDAY has no meaning with FREQ=${freq}`);
  if (bymonthday.length > 0 && freq === "WEEKLY") throw new Error("BYMONTHDAY has no meaning with FREQ=WEEKLY");
  if (byday.some(({ nth }) => nth !== 0)) {
    if (freq !== "MONTHLY" && freq !== "YEARLY") throw new Error(`BYDAY with numbers has no meaning with FREQ=${freq}`);
    if (byweekno.length > 0) throw new Error("BYDAY with numbers has no meaning with BYWEEKNO");
  }
  const others = [byday, byweekno, byyearday, bymonthday, bymonth, byhour, byminute, bysecond];
  if (bysetpos.length > 0 && others.every((list: readonly unknown[]) => list.length === 0))
    throw new Error("BYSETPOS needs another BY part");
}

/** The parts of DTSTART as a date, for a rule's defaults. */
export function startParts(startWall: number): { year: number; month: number; day: number; seconds: number } {
  const days = Math.floor(startWall / DAY_US);
  return { ...civilDate(days), seconds: Math.floor((startWall - days * DAY_US) / 1_000_000) };
}
