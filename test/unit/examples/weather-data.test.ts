import { readFile } from "node:fs/promises";
import t from "tap";
import { parseCsv } from "../../../examples/weather/csv.ts";
import { cleanDays, cleanFlights } from "../../../examples/weather/measurements.ts";
import { byHour, byMonth, byOrigin, median, tellingHours } from "../../../examples/weather/summaries.ts";

const day = (date: string, precipitation: string, high = "10", low = "2") => ({
  date,
  precipitation,
  temp_max: high,
  temp_min: low,
  wind: "3.0",
  weather: "rain",
});
const flight = (hour: string, origin: string, delay: number) => ({
  date: `2001/01/01 ${hour}:30`,
  origin,
  destination: "XXX",
  delay,
  distance: 1,
});

t.test("fields in quotes may hold commas and quotes, missing fields are empty", async (t) => {
  t.same(parseCsv('a,b,c\n1,"x, ""y""",3\r\n,,\n4\n'), [
    { a: "1", b: 'x, "y"', c: "3" },
    { a: "", b: "", c: "" },
    { a: "4", b: "", c: "" },
  ]);
});

t.test("days that cannot be true are dropped and counted by reason", async (t) => {
  const { records, dropped } = cleanDays([
    day("2012-01-01", "0.5"),
    day("2012-01-01", "0.5"),
    day("2012-13-01", "0.5"),
    day("2012-01-02", ""),
    day("2012-01-03", "-1"),
    day("2012-01-04", "0", "1", "5"),
  ]);
  t.same(records, [{ date: "2012-01-01", month: 1, precipitationMm: 0.5, maxC: 10, minC: 2, windMs: 3, weather: "rain" }]);
  t.same(dropped, {
    "day is there twice": 1,
    "date is not a day": 1,
    "figure is missing": 1,
    "figures contradict each other": 2,
  });
});

t.test("flights without a time, an airport or a possible delay are dropped", async (t) => {
  const { records, dropped } = cleanFlights([
    flight("07", "SEA", -3),
    { ...flight("07", "SEA", 1), date: null },
    flight("07", "", 1),
    flight("07", "XXX", 1),
    flight("07", "SEA", 2000),
    flight("07", "SEA", Number.NaN),
  ]);
  t.same(records, [{ hour: 7, origin: "SEA", destination: "XXX", delayMin: -3 }]);
  t.equal(
    Object.values(dropped).reduce((a, b) => a + b),
    5,
  );
});

t.test("months are averaged over the years measured", async (t) => {
  const { records } = cleanDays([
    day("2012-02-01", "10", "10", "0"),
    day("2013-02-01", "30", "20", "4"),
    day("2012-01-05", "0.5"),
  ]);
  t.match(byMonth(records), [
    { month: 1, days: 1, precipitationMm: 0.5, wetShare: 0 },
    { month: 2, days: 2, meanMaxC: 15, meanMinC: 2, precipitationMm: 20, wetShare: 1 },
  ]);
});

t.test("flights are summarised by origin, busiest first, and by hour", async (t) => {
  const { records } = cleanFlights([flight("09", "AAA", 16), flight("09", "BBB", 15), flight("05", "BBB", -15)]);
  t.same(byOrigin(records), [
    { origin: "BBB", flights: 2, meanDelayMin: 0, medianDelayMin: 0, lateShare: 0 },
    { origin: "AAA", flights: 1, meanDelayMin: 16, medianDelayMin: 16, lateShare: 1 },
  ]);
  t.match(byHour(records), [
    { hour: 5, flights: 1 },
    { hour: 9, flights: 2, lateShare: 0.5 },
  ]);
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
});

t.test("hours with hardly any flight tell nothing", async (t) => {
  const hours = [
    { hour: 3, flights: 2 },
    { hour: 8, flights: 998 },
  ].map((hour) => ({ ...hour, meanDelayMin: 0, medianDelayMin: 0, lateShare: 0 }));
  t.same(
    tellingHours(hours).map((hour) => hour.hour),
    [8],
  );
});

t.test("the measured files are read whole", async (t) => {
  const data = (name: string) => readFile(new URL(`../data/${name}`, import.meta.resolve("vega-datasets")), "utf8");
  const days = cleanDays(parseCsv(await data("seattle-weather.csv")));
  t.equal(days.records.length, 1461, "four years, one of them a leap year");
  t.same(days.dropped, {});
  const months = byMonth(days.records);
  t.same(
    months.map((month) => month.days),
    [124, 113, 124, 120, 124, 120, 124, 124, 120, 124, 120, 124],
  );
  const flights = cleanFlights(JSON.parse(await data("flights-2k.json")));
  t.equal(flights.records.length, 2000);
  t.equal(
    byHour(flights.records).reduce((sum, hour) => sum + hour.flights, 0),
    2000,
  );
});
