/** Flows that end, fail, wait and block in every way that the dashboard shows. */
import { Abort, artifact, cron, every, flow, log, signal, Type, task, waitForInput } from "millrace";

const Count = Type.Object({ count: Type.Integer({ default: 12, minimum: 0 }) });

/** Resolves when the run is stopped, or after `ms`. */
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
  if (station % 11 === 5) log.error("station %d answered 503 Service Unavailable", station);
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

const Day = Type.Object({ day: Type.String({ format: "date" }), region: Type.String({ default: "north" }) });
export const regionalSummary = flow("build_regional_summary", { parameters: Day, maxConcurrent: 1 }, async () => {
  await pause(3_600_000);
});

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

const Approval = Type.Object({ send: Type.Boolean(), note: Type.Optional(Type.String()) });
export const approval = flow("approve_invoices", async () => waitForInput("Send 3 invoices?", Approval));

const HOSTILE = '<img src=x onerror="globalThis.hit = 1"><script>globalThis.hit = 1</script>\u202Egnp.exe';
const hostileTask = task(HOSTILE, async () => {
  log.error(`${HOSTILE} ${"long".repeat(2_500)}`);
  throw new Error(HOSTILE);
});
export const hostile = flow("hostile", async () => {
  log.info(HOSTILE);
  artifact.markdown(
    HOSTILE,
    `# ${HOSTILE}\n\n[here](javascript:globalThis.hit=1) and [there](https://example.org)\n\n${HOSTILE}`,
  );
  artifact.table(HOSTILE, [{ [HOSTILE]: HOSTILE, long: "x".repeat(10_000) }]);
  artifact.link(HOSTILE, "javascript:globalThis.hit=1");
  artifact.image(HOSTILE, new TextEncoder().encode(`<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.hit=1"/>`), {
    mediaType: "image/svg+xml",
  });
  artifact.progress(HOSTILE, 40, { label: HOSTILE, key: "x".repeat(200) });
  await hostileTask();
});
