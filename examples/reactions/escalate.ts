/** A rule in code: each failure of a flow that failed several times lately is told once more, loudly. */
import { emit, rule } from "millrace";
import { Millrace } from "millrace/client";

/** Of so many latest runs this many failures are too many. */
const LATEST = 5;
const TOO_MANY = 3;

export const escalate = rule("escalate", { when: { events: ["run.failed"] } }, async (_event, run) => {
  if (run === null) return { failures: 0 };
  const { items } = await new Millrace().runs.list({ flow_id: run.flow_id }, { pageSize: LATEST }).page();
  const failures = items.filter(({ state }) => state.type === "Failed").length;
  if (failures >= TOO_MANY) await emit("flow-in-trouble", { flow: run.flow_name, failures });
  return { failures };
});
