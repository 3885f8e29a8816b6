/** Summaries of the measurements. */

import type { Day, Flight } from "./measurements.ts";

/** A month of the year, averaged over all years measured. */
export interface MonthSummary {
  /** 1 to 12 */
  month: number;
  days: number;
  meanMaxC: number;
  meanMinC: number;
  /** Rain and snow of one such month. */
  precipitationMm: number;
  /** Share of days with at least 1 mm, 0 to 1. */
  wetShare: number;
}

/** Flights grouped by a common property. */
export interface DelaySummary {
  flights: number;
  meanDelayMin: number;
  medianDelayMin: number;
  /** Share of flights more than 15 minutes late, 0 to 1. */
  lateShare: number;
}

export interface OriginSummary extends DelaySummary {
  origin: string;
}

export interface HourSummary extends DelaySummary {
  hour: number;
}

/** A flight counts as late from this delay on, as in the statistics of the Department of Transportation. */
const LATE_MIN = 15;
/** A day counts as wet from this amount on, as in meteorology. */
const WET_MM = 1;

export function byMonth(days: readonly Day[]): MonthSummary[] {
  const months = [...groupBy(days, (day) => day.month)].sort(([a], [b]) => a - b);
  return months.map(([month, group]) => {
    const years = new Set(group.map((day) => day.date.slice(0, 4))).size;
    return {
      month,
      days: group.length,
      meanMaxC: mean(group.map((day) => day.maxC)),
      meanMinC: mean(group.map((day) => day.minC)),
      precipitationMm: sum(group.map((day) => day.precipitationMm)) / years,
      wetShare: group.filter((day) => day.precipitationMm >= WET_MM).length / group.length,
    };
  });
}

/** Busiest first. */
export function byOrigin(flights: readonly Flight[]): OriginSummary[] {
  const origins = [...groupBy(flights, (flight) => flight.origin)].map(([origin, group]) => ({ origin, ...delays(group) }));
  return origins.sort((a, b) => b.flights - a.flights || a.origin.localeCompare(b.origin));
}

/** All hours in which a flight departed, in order. */
export function byHour(flights: readonly Flight[]): HourSummary[] {
  const hours = [...groupBy(flights, (flight) => flight.hour)].map(([hour, group]) => ({ hour, ...delays(group) }));
  return hours.sort((a, b) => a.hour - b.hour);
}

/** Hours with enough flights to be meaningful: at least half a percent of all. */
export function tellingHours(hours: readonly HourSummary[]): HourSummary[] {
  const total = sum(hours.map((hour) => hour.flights));
  return hours.filter((hour) => hour.flights >= total / 200);
}

function delays(flights: readonly Flight[]): DelaySummary {
  const minutes = flights.map((flight) => flight.delayMin);
  return {
    flights: flights.length,
    meanDelayMin: mean(minutes),
    medianDelayMin: median(minutes),
    lateShare: minutes.filter((delay) => delay > LATE_MIN).length / minutes.length,
  };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function groupBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
