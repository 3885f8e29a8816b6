import { flow, log, Type } from "millrace";

const DONE = new Set(["2026-01-02"]);

export const daily = flow(
  "daily",
  {
    parameters: Type.Object({ day: Type.String({ format: "date" }), source: Type.String({ default: "archive" }) }),
    bulkComplete: (days) => days.filter((day) => DONE.has(day)),
  },
  async ({ day, source }) => log.info(`loading ${day} from the ${source}`),
);

export const summary = flow(
  "summary",
  {
    parameters: Type.Object({ day: Type.String({ format: "date" }) }),
    after: { flows: ["daily"], key: "day", parameters: { day: "{{ run.parameters.day }}" } },
  },
  async ({ day }) => log.info(`summing up ${day}`),
);
