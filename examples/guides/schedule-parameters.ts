import { cron, flow, log, Type } from "millrace";

const nightly = { timezone: "Europe/Berlin", catchup: "all" } as const;

export const load = flow(
  "load",
  {
    parameters: Type.Object({ region: Type.String(), day: Type.String({ format: "date" }) }),
    schedules: [
      cron("0 2 * * *", { ...nightly, key: "eu", parameters: { region: "eu", day: "{{ fire.yesterday }}" } }),
      cron("0 4 * * *", { ...nightly, key: "us", parameters: { region: "us", day: "{{ fire.yesterday }}" } }),
    ],
  },
  async ({ region, day }) => log.info("loading", region, day),
);
