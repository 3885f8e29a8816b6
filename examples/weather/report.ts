/** The report in Markdown: findings first, the figures in tables below. */

import { MONTHS } from "./chart.ts";
import type { Cleaned } from "./measurements.ts";
import { type HourSummary, type MonthSummary, type OriginSummary, tellingHours } from "./summaries.ts";

export interface ReportInput {
  place: string;
  days: Cleaned<unknown>;
  flights: Cleaned<unknown>;
  months: readonly MonthSummary[];
  origins: readonly OriginSummary[];
  hours: readonly HourSummary[];
  /** Names of airports by code. */
  airports: Readonly<Record<string, string>>;
}

const MONTH_NAMES = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" });

export function renderReport(input: ReportInput): string {
  return [
    `# Weather in ${input.place}, and when flights are late`,
    "",
    ...findings(input).map((finding) => `- ${finding}`),
    "",
    `## ${input.place} by month`,
    "",
    ...monthTable(input.months),
    "",
    `## The ${input.origins.length} busiest airports`,
    "",
    ...originTable(input.origins, input.airports),
    "",
    "## Data",
    "",
    `${cleaning("days of weather (NOAA, 2012 to 2015)", input.days)} ${cleaning("flights (Bureau of Transportation Statistics, January to March 2001)", input.flights)}`,
    "",
  ].join("\n");
}

function findings({ place, months, origins, hours, airports }: ReportInput): string[] {
  const wettest = greatest(months, (month) => month.precipitationMm);
  const driest = greatest(months, (month) => -month.precipitationMm);
  const warmest = greatest(months, (month) => month.meanMaxC);
  const told = tellingHours(hours);
  const worst = greatest(told, (hour) => hour.lateShare);
  const best = greatest(told, (hour) => -hour.lateShare);
  const latest = greatest(origins, (origin) => origin.lateShare);
  return [
    `**${monthName(wettest.month)}** is the wettest month in ${place} with ${wettest.precipitationMm.toFixed(0)} mm, ${monthName(driest.month)} the driest with ${driest.precipitationMm.toFixed(0)} mm.`,
    `**${monthName(warmest.month)}** is the warmest: ${warmest.meanMaxC.toFixed(1)} \u00b0C on an average afternoon.`,
    `Delays add up over the day: of the flights that leave at ${clock(best.hour)}, **${percent(best.lateShare)}** are late; at ${clock(worst.hour)} it is **${percent(worst.lateShare)}**.`,
    `Of the busiest airports, **${airportName(latest.origin, airports)}** sends off the most late flights: ${percent(latest.lateShare)}.`,
  ];
}

function monthTable(months: readonly MonthSummary[]): string[] {
  return markdownTable(
    ["Month", "High", "Low", "Precipitation", "Wet days"],
    months.map((month) => [
      MONTHS[month.month - 1] ?? "",
      `${month.meanMaxC.toFixed(1)} \u00b0C`,
      `${month.meanMinC.toFixed(1)} \u00b0C`,
      `${month.precipitationMm.toFixed(0)} mm`,
      percent(month.wetShare),
    ]),
  );
}

function originTable(origins: readonly OriginSummary[], airports: Readonly<Record<string, string>>): string[] {
  return markdownTable(
    ["Airport", "Flights", "Median delay", "Mean delay", "Late"],
    origins.map((origin) => [
      airportName(origin.origin, airports),
      origin.flights.toLocaleString("en-US"),
      `${origin.medianDelayMin.toFixed(0)} min`,
      `${origin.meanDelayMin.toFixed(1)} min`,
      percent(origin.lateShare),
    ]),
  );
}

/** Pads the columns, so that the source is readable as a table too. The first column is text, the others are figures. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((name, index) => Math.max(name.length, ...rows.map((row) => (row[index] ?? "").length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, index) => (index === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), `| ${rule.join(" | ")} |`, ...rows.map(line)];
}

function cleaning(what: string, cleaned: Cleaned<unknown>): string {
  const used = `${cleaned.records.length.toLocaleString("en-US")} ${what} were used`;
  const reasons = Object.entries(cleaned.dropped).map(([reason, count]) => `${count} (${reason})`);
  return reasons.length === 0 ? `${used}; none had to be dropped.` : `${used}; dropped: ${reasons.join(", ")}.`;
}

export function airportName(code: string, airports: Readonly<Record<string, string>>): string {
  const city = airports[code];
  return city === undefined ? code : `${city} (${code})`;
}

function greatest<T>(items: readonly T[], figureOf: (item: T) => number): T {
  const [first, ...rest] = items;
  if (first === undefined) throw new RangeError("there is nothing to report on");
  return rest.reduce((best, item) => (figureOf(item) > figureOf(best) ? item : best), first);
}

function monthName(month: number): string {
  return MONTH_NAMES.format(Date.UTC(2000, month - 1));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

function clock(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
}
