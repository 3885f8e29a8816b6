import { cron, every, flow, log, rrule } from "millrace";

export const report = flow(
  "report",
  {
    schedules: [
      cron("0 6 * * MON-FRI", { timezone: "Europe/Berlin", catchup: "latest", key: "workdays" }),
      every("6h", { key: "refresh" }),
      rrule("DTSTART;TZID=Europe/Berlin:20260130T180000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR", { key: "month-end" }),
    ],
    disableAfter: { failures: 3, within: "1h", pause: "1d" },
  },
  async () => log.info("the report is written"),
);
