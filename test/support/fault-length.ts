/** Long fault tests run in `npm run check` with MILLRACE_FAULTS=1; `npm test` runs a short part of them. */
export const IS_LONG = process.env["MILLRACE_FAULTS"] === "1";

/** Options of a long test. */
export const LONG = IS_LONG ? {} : { skip: "takes long: set MILLRACE_FAULTS=1" };

/** Seconds of repeated kills of the whole process. */
export const KILL_SECONDS = IS_LONG ? 60 : 4;
