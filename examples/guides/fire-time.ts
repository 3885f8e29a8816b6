import { cron, flow, log, run } from "millrace";

export const figures = flow(
  "figures",
  { schedules: [cron("0 6 * * *", { timezone: "Europe/Berlin", catchup: "all", key: "daily" })] },
  async () => {
    const due = run.fireTime ?? new Date();
    const day = due.toLocaleDateString("sv-SE", { timeZone: "Europe/Berlin" });
    log.info("loading", day, "attempt", run.attempt, "for", run.schedule?.key ?? "a person");
    return day;
  },
);
