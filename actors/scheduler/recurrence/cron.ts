/**
 * Cron expressions: cron-parser parses the fields, but the walk over them is our own, because that of cron-parser loses fires
 * at clock changes, cannot combine the two day fields with AND and is a hundred times slower.
 */
import { CronExpressionParser } from "cron-parser";
import { civilDate, DAY_US, dayNumber, daysInMonth, HOUR_US, MINUTE_US, weekday } from "./calendar.ts";
import { type Fires, momentsOf, type WallTimes } from "./fires.ts";
import type { Zone } from "./zone.ts";

/** Longest expression: one with every value of every field is shorter. */
const LENGTH_MAX = 1_000;

const MACROS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/**
 * Each field as cron-parser gets it: the other fields are open, so that a date that never occurs is not an error of a field.
 */
const FIELDS = [
  { name: "minute", key: "minute", span: 60, characters: /^[\d*,/-]+$/, alone: (text: string) => `${text} * * * *` },
  { name: "hour", key: "hour", span: 24, characters: /^[\d*,/-]+$/, alone: (text: string) => `* ${text} * * *` },
  { name: "day of month", key: "dayOfMonth", span: 31, characters: /^[\d*,/L-]+$/, alone: (text: string) => `* * ${text} * *` },
  { name: "month", key: "month", span: 12, characters: /^[\dA-Z*,/-]+$/, alone: (text: string) => `* * * ${text} *` },
  { name: "day of week", key: "dayOfWeek", span: 7, characters: /^[\dA-Z*,/#-]+$/, alone: (text: string) => `* * * * ${text}` },
] as const;

/** The sets of values of an expression. */
interface CronFields {
  minutes: number[];
  hours: number[];
  months: ReadonlySet<number>;
  days: ReadonlySet<number>;
  lastDay: boolean;
  weekdays: ReadonlySet<number>;
  /** A weekday that occurs once a month: the n-th, or the last. */
  nthWeekday: { weekday: number; nth: number } | null;
  lastWeekdays: ReadonlySet<number>;
  anyDay: boolean;
  anyWeekday: boolean;
  repeats: boolean;
}

export type ParsedCron = { ok: true; times: CronTimes } | { ok: false; error: string };

/** Parses a five-field expression; `dayOr`: if both day fields are restricted, one match suffices. */
export function parseCron(expression: string, dayOr: boolean): ParsedCron {
  try {
    return { ok: true, times: new CronTimes(readFields(expression), dayOr) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return { ok: false, error: `invalid cron expression "${expression}": ${why}` };
  }
}

function readFields(expression: string): CronFields {
  if (expression.length > LENGTH_MAX) throw new Error(`longer than ${LENGTH_MAX} characters`);
  const text = expression.trim();
  const macro = text.startsWith("@") ? MACROS[text.toLowerCase()] : text;
  if (macro === undefined) throw new Error(`only ${Object.keys(MACROS).join(", ")} are known`);
  const parts = macro.toUpperCase().split(/\s+/);
  if (text === "" || parts.length !== FIELDS.length)
    throw new Error(`expected five fields, got ${text === "" ? 0 : parts.length}`);
  const [minutes, hours, days, months, weekdays] = parts.map(readField) as [Field, Field, Field, Field, Field];
  const { nth } = weekdays;
  const [first] = weekdays.values;
  return {
    minutes: sorted(minutes.values),
    hours: sorted(hours.values),
    months: new Set(months.values),
    days: new Set(days.values),
    lastDay: days.last.length > 0,
    weekdays: nth > 0 ? new Set() : new Set(weekdays.values.map((day) => day % 7)),
    nthWeekday: nth > 0 && first !== undefined ? { weekday: first % 7, nth } : null,
    lastWeekdays: new Set(weekdays.last.map((day) => day % 7)),
    anyDay: parts[2] === "*",
    anyWeekday: parts[4] === "*",
    repeats: /[*/]/.test(`${parts[0]}${parts[1]}`),
  };
}

interface Field {
  values: readonly number[];
  /** Values written with L; for the day of month the single value 0. */
  last: readonly number[];
  nth: number;
}

/** Cache of parsed fields: schedules share most of them, and cron-parser takes a fifth of a millisecond per field. */
const KNOWN = new Map<string, Field>();
const KNOWN_MAX = 1_000;

function readField(text: string, index: number): Field {
  const key = `${index} ${text}`;
  const known = KNOWN.get(key);
  if (known !== undefined) return known;
  const field = parseField(text, index);
  if (KNOWN.size >= KNOWN_MAX) KNOWN.clear();
  KNOWN.set(key, field);
  return field;
}

function parseField(text: string, index: number): Field {
  const field = FIELDS[index] as (typeof FIELDS)[number];
  const fault = (why: string): Error => new Error(`${field.name} "${text}": ${why}`);
  if (!field.characters.test(text)) throw fault("unexpected characters");
  for (const [, step = ""] of text.matchAll(/\/(\d*)/g)) {
    if (Number(step) < 1 || Number(step) > field.span) throw fault(`step ${step || "is missing"} is out of range`);
  }
  if (text.split(",").some((item) => item === "" || /^\/|[/-]$|\/.*[/-]/.test(item))) throw fault("is not complete");
  let read: { values: readonly (number | string)[]; nthDay?: number };
  try {
    // cron-parser reads the end of MON-SUN as 0.
    read = CronExpressionParser.parse(field.alone(text.replace(/(?<!SUN)-SUN/g, "-7"))).fields[field.key];
  } catch (cause) {
    throw fault(cause instanceof Error ? cause.message.replace(/^Constraint error, /, "") : String(cause));
  }
  const values = read.values.filter((value) => typeof value === "number");
  const last = read.values.filter((value) => typeof value === "string").map((value) => Number.parseInt(value, 10) || 0);
  return { values, last, nth: read.nthDay ?? 0 };
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

/** The wall times of an expression: days are walked a month at a time, so excluded months cost nothing. */
export class CronTimes implements WallTimes {
  readonly repeats: boolean;
  readonly #fields: CronFields;
  readonly #dayOr: boolean;
  /** The times of a matching day, in microseconds. */
  readonly #timesOfDay: number[];

  constructor(fields: CronFields, dayOr: boolean) {
    this.#fields = fields;
    this.#dayOr = dayOr;
    this.repeats = fields.repeats;
    this.#timesOfDay = fields.hours.flatMap((hour) => fields.minutes.map((minute) => hour * HOUR_US + minute * MINUTE_US));
  }

  between(from: number, to: number, count: number): number[] {
    const found: number[] = [];
    let { year, month } = civilDate(Math.floor(from / DAY_US));
    for (;;) {
      const first = dayNumber(year, month, 1);
      if (first * DAY_US >= to || found.length >= count) return found;
      if (this.#fields.months.has(month)) this.#collect(year, month, first, from, to, count, found);
      month += 1;
      if (month > 12) {
        month = 1;
        year += 1;
      }
    }
  }

  #collect(year: number, month: number, first: number, from: number, to: number, count: number, found: number[]): void {
    const length = daysInMonth(year, month);
    const startDay = Math.max(1, Math.floor(from / DAY_US) - first + 1);
    for (let day = startDay; day <= length; day += 1) {
      if (!this.#isDay(day, length, weekday(first + day - 1))) continue;
      const midnight = (first + day - 1) * DAY_US;
      if (midnight >= to) return;
      for (const time of this.#timesOfDay) {
        const wall = midnight + time;
        if (wall >= to || found.length >= count) return;
        if (wall >= from) found.push(wall);
      }
    }
  }

  #isDay(day: number, length: number, dayOfWeek: number): boolean {
    const { days, lastDay, weekdays, nthWeekday, lastWeekdays, anyDay, anyWeekday } = this.#fields;
    const inMonth = days.has(day) || (lastDay && day === length);
    const isNth = nthWeekday?.weekday === dayOfWeek && Math.ceil(day / 7) === nthWeekday.nth;
    const inWeek = weekdays.has(dayOfWeek) || isNth || (lastWeekdays.has(dayOfWeek) && day + 7 > length);
    if (anyDay || anyWeekday || !this.#dayOr) return (anyDay || inMonth) && (anyWeekday || inWeek);
    return inMonth || inWeek;
  }
}

/** The fires of an expression in a zone. */
export class CronFires implements Fires {
  readonly timezone: string;
  readonly #times: CronTimes;
  readonly #zone: Zone;

  constructor(times: CronTimes, zone: Zone) {
    this.#times = times;
    this.#zone = zone;
    this.timezone = zone.name;
  }

  after(us: number, count: number): number[] {
    return momentsOf(this.#times, this.#zone, us, count);
  }
}
