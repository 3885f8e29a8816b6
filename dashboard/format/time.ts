/**
 * Times of day and dates in the zone chosen by the user: the browser's or UTC. Times are microseconds since the Unix epoch.
 * Everything here reads the signal `zone`, so every shown time follows the switch.
 */
import { signal } from "@preact/signals";
import { readSetting, writeSetting } from "../state/settings.ts";
import { nowUs } from "./now.ts";

export type ZoneChoice = "local" | "utc";

const SETTING = "zone";
export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The zone in which times are shown. */
export const zone = signal<ZoneChoice>(readSetting(SETTING) === "utc" ? "utc" : "local");

export function switchZone(): void {
  zone.value = zone.value === "utc" ? "local" : "utc";
  writeSetting(SETTING, zone.value);
}

/** The name of the chosen zone: "Europe/Berlin", "UTC". */
export function zoneName(choice: ZoneChoice = zone.value): string {
  return choice === "utc" ? "UTC" : LOCAL_ZONE;
}

const SHAPES = {
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
  minute: { hour: "2-digit", minute: "2-digit" },
  log: { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 },
  day: { weekday: "short", day: "numeric", month: "short" },
  date: { weekday: "short", day: "numeric", month: "short", year: "numeric" },
  key: { year: "numeric", month: "2-digit", day: "2-digit" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

const formats = new Map<string, Intl.DateTimeFormat>();

function format(us: number, shape: keyof typeof SHAPES, zoned = zoneName()): string {
  const key = `${shape} ${zoned}`;
  let known = formats.get(key);
  if (known === undefined) {
    known = new Intl.DateTimeFormat("en-GB", { ...SHAPES[shape], timeZone: zoned, hourCycle: "h23" });
    formats.set(key, known);
  }
  return known.format(us / 1000);
}

/** "14:31:29". */
export function clockTime(us: number, choice?: ZoneChoice): string {
  return format(us, "clock", zoneName(choice));
}

/** "14:31". */
export function minuteTime(us: number, choice?: ZoneChoice): string {
  return format(us, "minute", zoneName(choice));
}

/** "14:27:35.118", for log lines. */
export function logTime(us: number): string {
  return format(us, "log");
}

/** "Thu 22 Oct". */
export function day(us: number): string {
  return format(us, "day").replace(",", "");
}

/** True if both lie on one day of the chosen zone. */
export function sameDay(a: number, b: number): boolean {
  return format(a, "key") === format(b, "key");
}

/** The time of day for today, "Thu 22 Oct, 14:15" for any other day: for columns. */
export function shortTime(us: number): string {
  return sameDay(us, nowUs()) ? clockTime(us) : `${day(us)}, ${minuteTime(us)}`;
}

/** Like `shortTime`, without seconds: for planned times. */
export function plannedTime(us: number): string {
  return sameDay(us, nowUs()) ? minuteTime(us) : `${day(us)}, ${minuteTime(us)}`;
}

/** "Thu 22 Oct 2026, 14:15:04": for titles and facts. */
export function fullTime(us: number): string {
  return `${format(us, "date").replace(",", "")}, ${clockTime(us)}`;
}
