import { flow, log, Type } from "millrace";

const parameters = Type.Object({ day: Type.String({ format: "date" }), rows: Type.Integer({ minimum: 1, default: 1000 }) });

export const sample = flow("sample", { parameters }, async ({ day, rows }) => log.info("loading", rows, "rows of", day));
