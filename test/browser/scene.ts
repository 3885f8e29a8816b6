/** A server with work in progress: runs that ended in every way, wait, run, and ask a question. */
import type { RuleRow, Run } from "#sdk/client/index";
import { pausedRun } from "./paused-run.ts";
import { makeRules, PAUSED_BY_RULE } from "./scene-rules.ts";
import { Served, type ServedOptions } from "./served.ts";

export interface Scene {
  server: Served;
  /** All its tasks completed. */
  completed: Run;
  /** Its tasks failed after retries. */
  failed: Run;
  timedOut: Run;
  running: Run;
  /** Waits for a resource that two other runs hold. */
  waiting: Run;
  paused: Run;
  /** Has artifacts of several kinds. */
  weather: Run;
  /** Fires when a run of the failed flow fails; one of its actions fails. */
  rule: RuleRow;
}

/** Runs of the stock flow, including the one that a rule starts. */
const STOCK_RUNS = 4;

/** Everything that ends by itself has ended: later changes come only from a test or a schedule. */
export async function startScene(options: ServedOptions = {}): Promise<Scene> {
  const server = await Served.start({ ...options, schedules: true });
  try {
    return await fill(server);
  } catch (error) {
    await server.close();
    throw error;
  }
}

async function fill(server: Served): Promise<Scene> {
  const started = async (flow: string, parameters: Record<string, unknown> = {}) => server.run(flow, parameters);
  const rule = await makeRules(server);
  const weather = await started("weather-report", { flights: "5k" });
  const failed = await started("ingest_station_observations", { count: 40 });
  const timedOut = await started("import_supplier_price_lists");
  const completed = await started("ingest_station_observations", { count: 5 });
  const holders = [await started("export_orders_to_erp"), await started("export_orders_to_erp")];
  await Promise.all(holders.map((run) => server.until(run, "Running")));
  const waiting = await started("export_orders_to_erp");
  await started("export_orders_to_erp");
  const running = await started("sync_product_catalogue_from_supplier_feeds_europe_and_uk_with_every_language");
  for (let count = 1; count < STOCK_RUNS; count += 1) await started("sync_stock_levels");
  const embedding = await started("embed_support_tickets");
  const paused = await pausedRun(server, "Send 42 invoices, 18,240.50 EUR in total?");
  await server.until(weather, "Completed");
  await server.until(failed, "Failed");
  await server.untilSchedulePaused(PAUSED_BY_RULE);
  await server.until(timedOut, "Failed");
  await server.until(completed, "Completed");
  await server.untilCompleted("sync_stock_levels", STOCK_RUNS);
  await server.until(embedding, "Failed");
  await server.until(waiting, "AwaitingResource");
  await server.until(running, "Running");
  return { server, completed, failed, timedOut, running, waiting, paused, weather, rule };
}
