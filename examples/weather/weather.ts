/**
 * A pipeline on measured data: read, clean, summarise concurrently, draw, report.
 *
 *     millrace serve examples/weather
 *     millrace run examples/weather/weather.ts:weather-report -p flights=5k
 */

import { readFile } from "node:fs/promises";
import { artifact, flow, log, progress, Type, task } from "millrace";
import { dataUri, delayChart, weatherChart } from "./chart.ts";
import { parseCsv } from "./csv.ts";
import { type Cleaned, cleanDays, cleanFlights, type Day, type Flight } from "./measurements.ts";
import { airportName, type ReportInput, renderReport } from "./report.ts";
import { byHour, byMonth, byOrigin, type HourSummary, type MonthSummary } from "./summaries.ts";

const PLACE = "Seattle";

/** The data files of the npm package vega-datasets. */
async function dataset(name: string): Promise<string> {
  return await readFile(new URL(`../data/${name}`, import.meta.resolve("vega-datasets")), "utf8");
}

const readWeather = task("read-weather", { retries: 2, timeout: "30s" }, async () => {
  const rows = parseCsv(await dataset("seattle-weather.csv"));
  log.info("read %d days of weather", rows.length);
  return rows;
});

const readFlights = task("read-flights", { retries: 2, timeout: "30s" }, async (sample: string) => {
  const rows = JSON.parse(await dataset(`flights-${sample}.json`)) as Record<string, unknown>[];
  log.info("read %d flights", rows.length);
  return rows;
});

const readAirports = task("read-airports", { retries: 2, timeout: "30s" }, async () => {
  const rows = parseCsv(await dataset("airports.csv"));
  log.info("read the names of %d airports", rows.length);
  return Object.fromEntries(rows.map((row) => [row["iata"] ?? "", row["city"] ?? ""]));
});

const cleanWeather = task("clean-weather", (rows: Record<string, string>[]) => told("days", rows.length, cleanDays(rows)));
const cleanDelays = task("clean-flights", (rows: Record<string, unknown>[]) => told("flights", rows.length, cleanFlights(rows)));

const weatherByMonth = task("weather-by-month", (days: Cleaned<Day>) => byMonth(days.records));
const flightsByOrigin = task("flights-by-origin", (flights: Cleaned<Flight>, count: number) =>
  byOrigin(flights.records).slice(0, count),
);
const flightsByHour = task("flights-by-hour", (flights: Cleaned<Flight>) => byHour(flights.records));

const drawWeather = task("draw-weather", (months: MonthSummary[]) => {
  artifact.image(`Weather in ${PLACE} by month`, dataUri(weatherChart(months, PLACE)), { key: "weather-chart" });
  log.info("drew %d months of weather", months.length);
});

const drawDelays = task("draw-delays", (hours: HourSummary[]) => {
  artifact.image("Late flights by hour of departure", dataUri(delayChart(hours)), { key: "delay-chart" });
  log.info("drew the delays of %d hours", hours.length);
});

const publish = task("publish", (input: ReportInput) => {
  const rows = input.origins.map((origin) => ({
    airport: airportName(origin.origin, input.airports),
    flights: origin.flights,
    median_delay_min: origin.medianDelayMin,
    mean_delay_min: Number(origin.meanDelayMin.toFixed(1)),
    late_percent: Number((100 * origin.lateShare).toFixed(1)),
  }));
  artifact.table("Busiest airports", rows, { key: "airports" });
  artifact.markdown("Report", renderReport(input), { key: "report" });
  log.info("published the report and a table of %d airports", rows.length);
});

export const weatherReport = flow(
  "weather-report",
  {
    description: "Weather in Seattle by month, and when and where flights are late.",
    tags: ["example"],
    timeout: "2m",
    parameters: Type.Object({
      flights: Type.Enum(["2k", "5k", "10k", "20k"], { default: "20k", description: "How many flights to read" }),
      airports: Type.Integer({ minimum: 1, maximum: 50, default: 10, description: "How many airports to report on" }),
    }),
  },
  async ({ flights, airports }) => {
    progress(0, "reading");
    const days = cleanWeather(readWeather());
    const delays = cleanDelays(readFlights(flights));
    const names = readAirports();
    await Promise.all([days, delays, names]);

    progress(40, "summarising");
    const [months, origins, hours] = await Promise.all([
      weatherByMonth(days),
      flightsByOrigin(delays, airports),
      flightsByHour(delays),
    ]);

    progress(70, "drawing");
    await Promise.all([drawWeather(months), drawDelays(hours)]);

    progress(90, "reporting");
    await publish({ place: PLACE, days: await days, flights: await delays, airports: await names, months, origins, hours });
    progress(100, "done");
    log.info("%d days of weather and %d flights are in the report", (await days).records.length, (await delays).records.length);
    return { days: (await days).records.length, flights: (await delays).records.length, airports: origins.length };
  },
);

/** Logs what the cleaning dropped, as a warning if it dropped anything. */
function told<T>(what: string, read: number, cleaned: Cleaned<T>): Cleaned<T> {
  const dropped = read - cleaned.records.length;
  if (dropped === 0) log.info("%d %s, all of them usable", read, what);
  else log.warning("%d of %d %s dropped: %j", dropped, read, what, cleaned.dropped);
  return cleaned;
}
