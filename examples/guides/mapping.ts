import { flow, log, Type, task } from "millrace";

const fetchDay = task("fetch", { retries: 2, retryDelay: "5s" }, async (day: string) => {
  if (day.endsWith("-13")) throw new Error(`no data for ${day}`);
  return { day, rows: 24 };
});

const store = task("store", async (days: readonly { day: string; rows: number }[]) => days.length);

export const fill = flow(
  "fill",
  { parameters: Type.Object({ days: Type.Array(Type.String(), { default: ["2026-01-12", "2026-01-13", "2026-01-14"] }) }) },
  async ({ days }) => {
    const outcomes = await fetchDay.map(days, { concurrency: 4, settle: true, label: (day) => day });
    const failed = days.filter((_, index) => outcomes[index]?.status === "rejected");
    if (failed.length > 0) log.with({ failed: failed.length, of: days.length }).warning("days without data");
    const fetched = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const stored = await store.map(fetched, { batchSize: 100 });
    const latest = await fetchDay.with({ label: "latest", retries: 5, timeout: "1m" })("2026-01-15");
    return { failed, stored, latest };
  },
);
