/** Flows that end, fail, wait and hold in every way the dashboard shows. */
import { Abort, artifact, cron, every, flow, log, signal, Type, task } from "millrace";

const Count = Type.Object({ count: Type.Integer({ default: 12, minimum: 0 }) });

/** Until the run is stopped, or the time is over. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal().addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal().reason);
    });
  });
}

const fetchStation = task("fetch_station", { retries: 1, retryDelay: 0.05 }, async (station: number) => {
  log.info("GET /v2/observations?station=%d", station);
  await pause(20 + (station % 7) * 15);
  if (station % 11 === 5) throw new Error(`HTTP 503 from the station feed, station ${station}`);
  return station;
});
const mergeObservations = task("merge_observations_into_hourly_table", async (stations: number[]) => stations.length);

export const ingest = flow(
  "ingest_station_observations",
  { parameters: Count, retries: 1, retryDelay: 0.3, tags: ["hourly"], schedules: [every("15m")] },
  async ({ count }) => {
    const results = await Promise.allSettled(Array.from({ length: count }, (_, index) => fetchStation(index)));
    const failed = results.filter(({ status }) => status === "rejected").length;
    if (failed > 0) throw new Error(`${failed} of ${count} stations did not answer`);
    return mergeObservations(results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
  },
);

const readStock = task("read_stock", async () => 42);
export const syncStock = flow("sync_stock_levels", { tags: ["shop"], schedules: [cron("*/30 * * * *")] }, async () => {
  const level = await readStock();
  log.info("stock is at %d", level);
  artifact.table(
    "Stock",
    [
      { article: "tea", level },
      { article: "coffee", level: level * 2 },
    ],
    { key: "stock" },
  );
  return { level };
});

export const exportOrders = flow("export_orders_to_erp", { resources: { "db-warehouse": 1 } }, async () => {
  log.info("holding the warehouse");
  await pause(3_600_000);
});

export const nightlySnapshot = flow("nightly_object_store_snapshot", { resources: { "s3-upload": 1 } }, async () => {
  await pause(3_600_000);
});

export const longestName = flow("sync_product_catalogue_from_supplier_feeds_europe_and_uk_with_every_language", async () => {
  log.warning("slow answer: 3,281 ms, the limit is 3,000 ms");
  await pause(3_600_000);
});

export const priceLists = flow("import_supplier_price_lists", { timeout: "1s" }, () => pause(60_000));

export const embedTickets = flow("embed_support_tickets", () => {
  throw new Abort("the model is not there: out of memory?");
});

const step = task("step", async (index: number) => index);
export const manyTasks = flow("many_tasks", { parameters: Count }, async ({ count }) => {
  for (let first = 0; first < count; first += 500)
    await Promise.all(Array.from({ length: Math.min(500, count - first) }, (_, index) => step(first + index)));
});

export const manyLines = flow("many_lines", { parameters: Count }, ({ count }) => {
  for (let line = 1; line <= count; line += 1) log.info("line %d of %d", line, count);
});
