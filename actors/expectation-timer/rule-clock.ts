/** The clocks of rules: cron expressions in a time zone, parsed and walked like those of schedules. */
import { parseCron } from "../scheduler/recurrence/cron.ts";
import { momentsOf } from "../scheduler/recurrence/fires.ts";
import { findZone } from "../scheduler/recurrence/zone.ts";

const ZONE_DEFAULT = "UTC";

/** The error in an expression and zone, or null. */
export function checkClock(cron: string, zone: string | null): string | null {
  if (findZone(zone ?? ZONE_DEFAULT) === null) return `unknown time zone "${zone}"`;
  const parsed = parseCron(cron, true);
  return parsed.ok ? null : parsed.error;
}

/** The first tick after a time, or null. */
export function nextTick(cron: string, zone: string | null, afterUs: number): number | null {
  const parsed = parseCron(cron, true);
  const found = findZone(zone ?? ZONE_DEFAULT);
  if (!parsed.ok || found === null) return null;
  return momentsOf(parsed.times, found, afterUs, 1)[0] ?? null;
}
