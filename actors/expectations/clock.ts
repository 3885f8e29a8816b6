/** The clocks of rules: five-field cron expressions in a time zone. */
import { CronExpressionParser } from "cron-parser";
import { IANAZone } from "luxon";

const FIELD = /^[\d*/,\-?a-zA-Z]+$/;
const US_PER_MS = 1000;

/** What is wrong with an expression and zone, or null. */
export function checkClock(cron: string, zone: string | null, nowUs: number): string | null {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5)
    return `expected five fields (minute hour day month weekday), got ${cron.trim() === "" ? 0 : fields.length}`;
  const odd = fields.find((field) => !FIELD.test(field));
  if (odd !== undefined) return `cannot read "${odd}"`;
  if (zone !== null && !IANAZone.isValidZone(zone)) return `unknown time zone "${zone}"`;
  try {
    nextTick(cron, zone, nowUs);
    return null;
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

/** The first tick after a moment. */
export function nextTick(cron: string, zone: string | null, afterUs: number): number {
  return walk(cron, zone, afterUs).next().toDate().getTime() * US_PER_MS;
}

/** The tick before another one. */
export function tickBefore(cron: string, zone: string | null, tickUs: number): number {
  return walk(cron, zone, tickUs).prev().toDate().getTime() * US_PER_MS;
}

function walk(cron: string, zone: string | null, fromUs: number) {
  return CronExpressionParser.parse(cron, { tz: zone ?? "UTC", currentDate: new Date(Math.floor(fromUs / US_PER_MS)) });
}
