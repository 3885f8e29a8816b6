import t from "tap";
import { cronDifferences } from "../support/cron-check.ts";

t.setTimeout(3_600_000);

t.test("every minute of two years in every zone", async (t) => {
  const zones = [...Intl.supportedValuesOf("timeZone"), "UTC"];
  t.ok(zones.length > 400);
  for (const zone of zones) t.same(cronDifferences(zone), [], zone);
});
