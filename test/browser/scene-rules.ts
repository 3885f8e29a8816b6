/** Rules of every kind: immediate and waiting ones, one that fails, one armed by a clock, one that is disabled. */
import type { RuleRow } from "#sdk/client/index";
import type { Served } from "./served.ts";

/** An address without a listener. */
const UNREACHABLE = "http://127.0.0.1:9/hooks/ops";

/** The flow whose schedule a rule pauses after a run of the failed flow. */
export const PAUSED_BY_RULE = "sync_stock_levels";

export async function makeRules({ client }: Served): Promise<RuleRow> {
  await client.rules.create({
    name: "Verify after each backup",
    when: { events: ["run.completed"], flows: ["ingest_station_observations"] },
    do: [{ kind: "run_flow", flow: "sync_stock_levels" }],
  });
  await client.rules.create({
    name: "Orders reach the ERP by noon",
    unless: { events: ["run.completed"], flows: ["export_orders_to_erp"] },
    within: 86_400,
    at: { cron: "0 12 * * 1-5", tz: "Europe/Berlin" },
    do: [{ kind: "email", to: ["orders@intern.example"], subject: "No export yet" }],
  });
  await client.rules.create({
    name: "Exports end within the hour",
    when: { events: ["run.running"], flows: ["export_orders_to_erp"] },
    unless: { events: ["run.completed"], flows: ["export_orders_to_erp"] },
    within: 3_600,
    do: [{ kind: "cancel_run" }],
  });
  await client.rules.create({
    name: "Tell finance about paused invoices",
    enabled: false,
    when: { events: ["run.paused"], flows: ["issue_invoices_monthly"] },
    do: [{ kind: "email", to: ["finance@intern.example"] }],
  });
  return client.rules.create({
    name: "Weather feed is down",
    when: { events: ["run.failed", "run.crashed"], flows: ["ingest_station_observations"] },
    cooldown_seconds: 1_800,
    max_per_minute: 2,
    do: [
      { kind: "webhook", url: UNREACHABLE, body: { text: "{{ run.name }} failed: {{ event.payload.message }}" } },
      { kind: "pause_schedule", flow: PAUSED_BY_RULE },
    ],
  });
}
