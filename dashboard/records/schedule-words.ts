/** Schedules in words. Uncommon expressions are shown as written. */
import type { Schedule, ScheduleRow } from "#protocol/records/schedule";
import { duration } from "../format/duration.ts";
import { plannedTime } from "../format/time.ts";

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** "every 15 min", "daily 01:15", "Mon to Fri 10:00", "30 2 1 * *". */
export function scheduleText(schedule: Schedule): string {
  if (schedule.kind === "cron") return cronText(schedule.cron);
  if (schedule.kind === "interval") return `every ${periodText(schedule.interval)}`;
  return /RRULE:([^\n]+)/.exec(schedule.rrule)?.[1] ?? schedule.rrule;
}

function periodText(seconds: number): string {
  if (seconds % 86_400 === 0) return seconds === 86_400 ? "day" : `${seconds / 86_400} days`;
  if (seconds % 3_600 === 0) return seconds === 3_600 ? "hour" : `${seconds / 3_600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : duration(seconds * 1_000_000);
}

function cronText(cron: string): string {
  const [minute = "", hour = "", date = "", month = "", weekday = ""] = cron.trim().split(/\s+/);
  if (date !== "*" || month !== "*") return cron;
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (step !== undefined && hour === "*" && weekday === "*") return `every ${step} min`;
  if (!/^\d+$/.test(minute)) return cron;
  const two = (text: string) => text.padStart(2, "0");
  if (hour === "*" && weekday === "*") return minute === "0" ? "hourly" : `hourly at :${two(minute)}`;
  if (!/^\d+(,\d+)*$/.test(hour)) return cron;
  const times = hour.split(",").map((each) => `${two(each)}:${two(minute)}`);
  const on = weekdayText(weekday);
  return on === null ? cron : `${on} ${times.join(" and ")}`;
}

function weekdayText(weekday: string): string | null {
  if (weekday === "*") return "daily";
  const range = /^([0-7])-([0-7])$/.exec(weekday);
  if (range !== null) return `${DAYS[Number(range[1])]} to ${DAYS[Number(range[2])]}`;
  if (!/^[0-7](,[0-7])*$/.test(weekday)) return null;
  return weekday
    .split(",")
    .map((day) => DAYS[Number(day)])
    .join(", ");
}

/** Prefix of the reason if a rule paused the schedule; the name of the rule follows. */
const BY_RULE = "rule:";

/** Why a schedule does not fire, or null. Its existing runs continue. */
export function pausedText({ active, paused_until, paused_reason }: ScheduleRow): string | null {
  if (active) return null;
  const until = paused_until === null ? "paused" : `paused until ${plannedTime(paused_until)}`;
  if (paused_reason === null || paused_reason === "paused") return until;
  return paused_reason.startsWith(BY_RULE)
    ? `${until} by rule ${paused_reason.slice(BY_RULE.length)}`
    : `${until}: ${paused_reason}`;
}

export function zoneOf(schedule: Schedule): string {
  return schedule.timezone ?? "zone of the server";
}
