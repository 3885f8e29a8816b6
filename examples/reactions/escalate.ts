/** A rule in code: a failure of a flow that has failed several times lately raises a further event. */
import { emit, rule } from "millrace";
import { Millrace } from "millrace/client";

/** With this many failures among this many latest runs, a flow is in trouble. */
const LATEST = 5;
const TOO_MANY = 3;

export const escalate = rule("escalate", { when: { events: ["run.failed"] } }, async (_event, run) => {
  if (run === null) return { failures: 0 };
  const { items } = await new Millrace().runs.list({ flow_id: run.flow_id }, { pageSize: LATEST }).page();
  const failures = items.filter(({ state }) => state.type === "Failed").length;
  if (failures >= TOO_MANY) await emit("flow-in-trouble", { flow: run.flow_name, failures });
  return { failures };
});
