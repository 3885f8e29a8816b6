/**
 * A slow oracle for cron: checks every minute of a period, with its own implementation of fields, calendar and zone. It
 * shares only the policy under test with the product.
 */

export interface OracleExpression {
  text: string;
  dayOr: boolean;
}

interface Masks {
  minute: boolean[];
  hour: boolean[];
  day: boolean[];
  month: boolean[];
  weekday: boolean[];
  anyDay: boolean;
  anyWeekday: boolean;
  dayOr: boolean;
  fixed: boolean;
  found: number[];
  /** The newest wall minute seen, to recognise times that occur twice. */
  inGap: boolean;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** Every clock change since 1990 lies on a quarter of an hour. */
const QUARTER = 15;
const MINUTE_US = 60_000_000;

/** Fires of each expression from one minute (inclusive) to another (exclusive), both counted since 1970; in microseconds. */
export function oracleFires(zone: string, expressions: readonly OracleExpression[], from: number, to: number): number[][] {
  const masks = expressions.map(readMasks);
  const offsetAt = offsetReader(zone);
  // Starts a day early, to see a change just before the period.
  let offset = offsetAt(from - 1440);
  let newest = from - 1440 + offset - 1;
  const wall = new WallClock();
  for (let minute = from - 1440; minute < to; minute += 1) {
    if (minute % QUARTER === 0) offset = offsetAt(minute);
    const shown = minute + offset;
    for (const mask of masks) mask.inGap = false;
    for (let skipped = newest + 1; skipped < shown; skipped += 1) {
      wall.set(skipped);
      for (const mask of masks) if (mask.fixed && matches(mask, wall)) mask.inGap = true;
    }
    wall.set(shown);
    for (const mask of masks) {
      if (minute < from) continue;
      const repeated = mask.fixed && shown <= newest;
      if (mask.inGap || (!repeated && matches(mask, wall))) mask.found.push(minute * MINUTE_US);
    }
    newest = Math.max(newest, shown);
  }
  return masks.map(({ found }) => found);
}

class WallClock {
  minute = 0;
  hour = 0;
  day = 0;
  month = 0;
  weekday = 0;
  #today = Number.NaN;

  set(wallMinute: number): void {
    const today = Math.floor(wallMinute / 1440);
    const ofDay = wallMinute - today * 1440;
    this.minute = ofDay % 60;
    this.hour = (ofDay - this.minute) / 60;
    if (today === this.#today) return;
    this.#today = today;
    const date = new Date(today * 86_400_000);
    this.day = date.getUTCDate();
    this.month = date.getUTCMonth() + 1;
    this.weekday = date.getUTCDay();
  }
}

function matches(mask: Masks, wall: WallClock): boolean {
  if (mask.minute[wall.minute] !== true || mask.hour[wall.hour] !== true || mask.month[wall.month] !== true) return false;
  const day = mask.day[wall.day] === true;
  const weekday = mask.weekday[wall.weekday] === true;
  if (mask.anyDay || mask.anyWeekday || !mask.dayOr) return day && weekday;
  return day || weekday;
}

function readMasks({ text, dayOr }: OracleExpression): Masks {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = text.split(" ");
  const week = readField(weekday, 0, 7, DAYS, 0);
  if (week[7]) week[0] = true;
  return {
    minute: readField(minute, 0, 59),
    hour: readField(hour, 0, 23),
    day: readField(day, 1, 31),
    month: readField(month, 1, 12, MONTHS, 1),
    weekday: week,
    anyDay: day === "*",
    anyWeekday: weekday === "*",
    dayOr,
    fixed: !/[*/]/.test(minute + hour),
    found: [],
    inGap: false,
  };
}

function readField(text: string, least: number, most: number, names: string[] = [], first = 0): boolean[] {
  const set: boolean[] = new Array(most + 1).fill(false);
  const value = (word: string): number => (names.includes(word) ? names.indexOf(word) + first : Number(word));
  for (const item of text.split(",")) {
    const [range = "", step] = item.split("/");
    const [low, high] = range.split("-");
    const from = range === "*" ? least : value(low ?? "");
    const to = range === "*" || (high === undefined && step !== undefined) ? most : value(high ?? low ?? "");
    for (let at = from; at <= to; at += Number(step ?? 1)) set[at] = true;
  }
  return set;
}

/** Minutes that a zone is ahead of UTC, from the formatter's wall time. */
function offsetReader(zone: string): (minute: number) => number {
  const parts = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", ...parts });
  return (minute) => {
    const shown: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(minute * 60_000)) shown[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0 } = shown as { year?: number; month?: number; day?: number; hour?: number };
    return Date.UTC(year, month - 1, day, hour, shown["minute"]) / 60_000 - minute;
  };
}

/** Forty expressions: every form of every field, and times in, at and around clock changes. */
export const EXPRESSIONS: readonly OracleExpression[] = [
  "* * * * *",
  "*/5 * * * *",
  "*/7 * * * *",
  "0 * * * *",
  "30 * * * *",
  "15,45 * * * *",
  "0 */2 * * *",
  "0 */6 * * *",
  "10-20/5 1-5 * * *",
  "*/30 2 * * *",
  "*/15 1,2,3 * * *",
  "30 0-23/3 * * *",
  "0 0 * * *",
  "30 0 * * *",
  "0 1 * * *",
  "30 1 * * *",
  "59 1 * * *",
  "0 2 * * *",
  "15 2 * * *",
  "30 2 * * *",
  "0,30 2 * * *",
  "0 2,3 * * *",
  "0 3 * * *",
  "30 3 * * *",
  "30 23 * * *",
  "45 22-23 * * *",
  "0 12 * * 1-5",
  "0 9 * * MON,WED,FRI",
  "0 0 1 * *",
  "0 0 31 * *",
  "0 6 29 2 *",
  "30 2 1-7 3,11 SUN",
  "30 2 * 3,4,10,11 SUN",
  "0 8 13 * 5",
  "0 0 1,15 * 3",
  "5 4 */2 * *",
  "0 0 * JAN-MAR 0",
  "0 5 * * 7",
  "0 0 30 2 *",
]
  .map((text) => ({ text, dayOr: true }))
  .concat({ text: "0 8 13 * 5", dayOr: false });
