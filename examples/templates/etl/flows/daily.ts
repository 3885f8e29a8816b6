import { artifact, cron, flow, log, Type, task } from "millrace";

interface Reading {
  place: string;
  degrees: number;
}

/** Stands for a request to a source of data. */
const extract = task(
  "extract",
  { retries: 3, retryDelay: [1, 5, 30], timeout: "30s" },
  async (place: string): Promise<Reading[]> => {
    return [1, 2, 3].map((degrees) => ({ place, degrees: degrees + place.length }));
  },
);

const transform = task("transform", (readings: Reading[][]) => {
  return readings.map((each) => ({
    place: each[0]?.place ?? "",
    mean: each.reduce((sum, { degrees }) => sum + degrees, 0) / each.length,
  }));
});

export const daily = flow(
  "daily",
  {
    parameters: Type.Object({ places: Type.Array(Type.String(), { default: ["Oslo", "Rome"] }) }),
    schedules: [cron("0 6 * * *", { catchup: "latest", key: "daily" })],
    retries: 1,
    retryDelay: "1m",
    tags: ["etl"],
  },
  async ({ places }) => {
    const readings = await extract.map(places, { concurrency: 4 });
    const rows = await transform(readings);
    await artifact.table("means", rows, { key: "daily" });
    log.info("wrote %d rows", rows.length);
    return rows.length;
  },
);
