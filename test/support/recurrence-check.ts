/**
 * Compares recurrence rules with rrule-temporal, another implementation that supports zones. Each intended difference has a
 * name, and is excluded from the comparison as narrowly as possible.
 */
import { RRuleTemporal } from "rrule-temporal";
import { RecurrenceFires } from "#actors/scheduler/recurrence/rrule";
import { parseRecurrence } from "#actors/scheduler/recurrence/rrule-parse";
import { findZone, type Zone } from "#actors/scheduler/recurrence/zone";
import type { RandomRule } from "./random-rules.ts";

/** Intended differences: our behaviour, then theirs. */
export const POLICIES = {
  gap: "a fixed time in a gap fires at its end; it is left out",
  positions: "BYSETPOS counts times as the clock names them, in a gap too; it counts those that are left",
  clock: "HOURLY and MINUTELY count the hours and minutes that the clock shows; they count time that passes",
  weeks: "a day of a week that reaches into another year belongs to the year it is in; it belongs to the year of its week",
  bound: "a rule that rarely fires is searched for 41 years; the search ends after a number of steps",
  horizon: "fires end in 2255, where microseconds leave the exact integers; they do not",
} as const;
export type Policy = keyof typeof POLICIES;

export interface Comparison {
  /** The policies that caused a difference. */
  policies: Policy[];
  /** Remaining differences in words; null without any. */
  difference: string | null;
}

/** Zones with half-hour changes, with changes at midnight, without changes, and with the usual changes in both hemispheres. */
export const RULE_ZONES = [
  "UTC",
  "Europe/Paris",
  "America/New_York",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Africa/Cairo",
  "America/Santiago",
];
const WITHOUT_CHANGES = ["UTC", "Asia/Kolkata"];

const FIRES = 30;
/** Maximum of steps: enough to find fires within a few years. */
const STEPS_MAX = 300;
/** Days on either side of a new year that may belong to a week of the other year. */
const SPILL_DAYS = 3;
const DAY_US = 86_400_000_000;

export function compareRecurrence({ start, rule: drawn }: RandomRule, zoneName: string): Comparison {
  // Days that only one side counts would also count towards COUNT.
  const rule = /BYWEEKNO/.test(drawn) ? drawn.replace(/;COUNT=\d+/, "") : drawn;
  const inZone = compareIn(rule, start, zoneName);
  const policy = inZone.difference === null ? null : policyOfClockChanges(rule, zoneName);
  if (policy === null) return inZone;
  // Without clock changes, both implementations must agree.
  const inUtc = compareIn(rule, start, "UTC");
  return { ...inUtc, policies: [...inUtc.policies, policy] };
}

/** Why a rule may differ around clock changes, apart from fires in a gap. */
function policyOfClockChanges(rule: string, zone: string): Policy | null {
  if (WITHOUT_CHANGES.includes(zone)) return null;
  if (/FREQ=(HOURLY|MINUTELY)/.test(rule)) return "clock";
  return /BYSETPOS/.test(rule) ? "positions" : null;
}

function compareIn(rule: string, start: string, zoneName: string): Comparison {
  const zone = findZone(zoneName);
  if (zone === null) return { policies: [], difference: `${zoneName} is not known` };
  const text = `DTSTART;TZID=${zoneName}:${start}\nRRULE:${rule}`;
  const policies = new Set<Policy>();
  const found = new RecurrenceFires(parseRecurrence(text), zone).after(0, FIRES);
  const { fires, gaveUp } = theirFires(text);
  if (gaveUp) policies.add("bound");
  const isWeekly = /BYWEEKNO/.test(rule);
  const ours = found.filter((fire) => {
    if (isWeekly && isNearNewYear(zone, fire)) return leftOut(policies, "weeks", fires.includes(fire));
    return !isEndOfGap(zone, fire) || fires.includes(fire) || leftOut(policies, "gap", false);
  });
  const theirs = fires.filter((fire) => {
    if (isWeekly && isNearNewYear(zone, fire)) return leftOut(policies, "weeks", found.includes(fire));
    return Number.isSafeInteger(fire) || leftOut(policies, "horizon", false);
  });
  // If a list was cut short, compare the common part.
  const isCut = policies.size > 0 || isWeekly;
  const length = isCut ? Math.min(ours.length, theirs.length) : Math.max(ours.length, theirs.length);
  const at = Array.from({ length }, (_, index) => index).find((index) => ours[index] !== theirs[index]);
  const difference = at === undefined ? null : `${text}: fire ${at} is ${shown(ours[at])}, theirs ${shown(theirs[at])}`;
  return { policies: [...policies], difference };
}

/** Excludes a fire from the comparison; the policy counts as a difference unless both have the fire. */
function leftOut(policies: Set<Policy>, policy: Policy, isInBoth: boolean): false {
  if (!isInBoth) policies.add(policy);
  return false;
}

function theirFires(text: string): { fires: number[]; gaveUp: boolean } {
  const fires: number[] = [];
  try {
    new RRuleTemporal({ rruleString: text, maxIterations: STEPS_MAX }).all((fire) => {
      fires.push(fire.epochMilliseconds * 1000);
      return fires.length < FIRES;
    });
  } catch (cause) {
    if (!/Maximum iterations/.test(String(cause))) throw cause;
    return { fires, gaveUp: true };
  }
  return { fires, gaveUp: false };
}

function isEndOfGap(zone: Zone, fire: number): boolean {
  const { start, offset, before } = zone.stretchAt(fire);
  return start === fire && offset > before;
}

function isNearNewYear(zone: Zone, fire: number): boolean {
  const wall = zone.wallAt(fire);
  const year = (us: number): number => new Date(us / 1000).getUTCFullYear();
  return year(wall - SPILL_DAYS * DAY_US) !== year(wall) || year(wall + SPILL_DAYS * DAY_US) !== year(wall);
}

function shown(us: number | undefined): string {
  return us === undefined ? "none" : new Date(us / 1000).toISOString();
}
