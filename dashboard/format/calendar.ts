/** Days of the chosen zone; some are 23 or 25 hours long. */
import { zoneName } from "./time.ts";

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Offset of a zone from UTC at a moment, microseconds. */
export function offsetAt(us: number, zone: string): number {
  let format = formats.get(zone);
  if (format === undefined) {
    const shape = {
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    } as const;
    format = new Intl.DateTimeFormat("en-US", { ...shape, timeZone: zone, hourCycle: "h23" });
    formats.set(zone, format);
  }
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(us / 1000)) part[type] = Number(value);
  const wall = Date.UTC(part["year"] ?? 0, (part["month"] ?? 1) - 1, part["day"], part["hour"], part["minute"], part["second"]);
  return (wall - Math.floor(us / 1_000_000) * 1000) * 1000;
}

export interface CalendarDay {
  /** Microseconds since the Unix epoch; `to` is the start of the next day. */
  from: number;
  to: number;
  /** 24, except on days when the clock changes. */
  hours: number;
}

/** The start of a calendar day, counted from 1970-01-01. */
function startOf(day: number, zone: string): number {
  const wall = day * DAY_US;
  const guess = wall - offsetAt(wall, zone);
  return wall - offsetAt(guess, zone);
}

/** Number of the day that contains a moment. */
export function dayNumber(us: number, zone = zoneName()): number {
  return Math.floor((us + offsetAt(us, zone)) / DAY_US);
}

/** Consecutive days from a day number on. */
export function daysFrom(first: number, count: number, zone = zoneName()): CalendarDay[] {
  return Array.from({ length: count }, (_, index) => {
    const from = startOf(first + index, zone);
    const to = startOf(first + index + 1, zone);
    return { from, to, hours: Math.round((to - from) / HOUR_US) };
  });
}

/** The Monday on or before a day. */
export function mondayOf(day: number): number {
  return day - ((((day + 3) % 7) + 7) % 7);
}
