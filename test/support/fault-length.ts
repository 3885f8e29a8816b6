/** Fault tests that take long are run by `npm run check` with MILLRACE_FAULTS=1; `npm test` runs a short part of them. */
const isLong = process.env["MILLRACE_FAULTS"] === "1";

/** Options of a test that takes long. */
export const LONG = isLong ? {} : { skip: "takes long: set MILLRACE_FAULTS=1" };

/** Seconds of repeated kills of the whole process, one each two seconds. */
export const KILL_SECONDS = isLong ? 60 : 4;
