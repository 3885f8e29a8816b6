/** Rules in code about missing events. Their actions are data, so the server executes them without calling a function. */
import { expectBy, expectWithin, rule } from "millrace";

const ENDED = ["run.completed", "run.failed", "run.cancelled", "run.crashed"];

export const stuck = rule(
  "stuck",
  expectWithin("30m", { events: ENDED }, { after: { events: ["run.running"], flows: ["ingest"] } }),
  [{ kind: "cancel_run" }],
);

export const nothingToday = rule(
  "nothing by eight",
  expectBy("0 8 * * MON-FRI", { events: ["run.completed"], flows: ["ingest"] }, { timezone: "Europe/Berlin", within: "8h" }),
  [{ kind: "webhook", url: "http://127.0.0.1:9/hook", body: { text: "nothing came in by {{ event.occurred }}" } }],
);
