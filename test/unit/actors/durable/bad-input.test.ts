/** Waits that no run can mean are refused with a clear error, and nothing of their request is armed. */
import t from "tap";
import { operations } from "../../../support/decision-record.ts";
import { arm, parkOf, send, startDurable } from "../../../support/durable-steps.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const YEAR_10000_US = Date.UTC(10_000, 0, 1) * 1_000;
const THREE_THOUSAND_YEARS_SECS = 3_000 * 365 * 86_400;
const SLEEP = { wait: 1, kind: "sleep", delay: 60 };

t.test("a time that cannot be, or cannot be stored, is refused with the wait that has it", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit, { flow: "report" });
  for (const [wait, error] of [
    [{ kind: "sleep", until: YEAR_10000_US }, /^waits\[1\]\.until: expected at most 2\^53 - 1$/],
    [{ kind: "sleep", until: "tomorrow" }, /^waits\[1\]\.until: expected /],
    [{ kind: "sleep", delay: -1 }, /^waits\[1\]\.delay: expected at least 0$/],
    [{ kind: "sleep" }, /^wait "wait-2": a sleep needs `delay` or `until`$/],
    [{ kind: "sleep", delay: THREE_THOUSAND_YEARS_SECS }, /^wait "wait-2": times after the year 2255 cannot be stored$/],
    [{ kind: "event", event: "paid", timeout: -1 }, /^waits\[1\]\.timeout: expected at least 0$/],
    [{ kind: "callback", timeout: THREE_THOUSAND_YEARS_SECS }, /^wait "wait-2": times after the year 2255 cannot be stored$/],
    [{ kind: "child", flow: "report", delay: THREE_THOUSAND_YEARS_SECS }, /^wait "wait-2": times after the year 2255/],
  ] as const) {
    const armed = arm(kit, held, [SLEEP, { wait: 2, ...wait }]);
    t.equal(armed.reply?.status, 422, JSON.stringify(wait));
    t.match(armed.reply?.body["error"], error);
    t.strictSame(operations(armed, "put_wait"), [], "the valid wait of the request is not armed either");
  }
});

t.test("a sleep until a time that has passed, and a timeout of 0, end at once", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const armed = arm(kit, held, [
    { wait: 1, kind: "sleep", until: kit.nowUs - 1_000_000 },
    { wait: 2, kind: "event", event: "paid", timeout: 0 },
  ]);
  t.equal(armed.reply?.status, 200, JSON.stringify(armed.reply?.body));
  const settled = operations(kit.pass(0), "settle_wait").map(({ outcome }) => outcome);
  t.strictSame(settled, ['{"kind":"slept"}', '{"kind":"timed_out"}']);
  t.match(send(kit, held, [parkOf(kit, 3, [1, 2])]).reply?.body, { run_state: { name: "Resuming" } }, "nothing is waited for");
});

t.test("a child of a flow that does not exist, or was deleted, is refused by its name", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit, { project: "shop", flow: "report" });
  const unknown = arm(kit, held, [SLEEP, { wait: 2, kind: "child", flow: "summary" }]);
  t.match(unknown.reply, { status: 404, body: { error: /^flow "shop\/summary" is not registered/ } });
  t.strictSame(operations(unknown, "put_wait"), []);
  const other = startDurable(kit, { project: "shop", flow: "summary" }, "e2");
  kit.send("DeleteFlow", { target: kit.run(other.id).flow.id });
  t.match(arm(kit, held, [{ wait: 2, kind: "child", flow: "summary" }]).reply, { status: 404, body: { error: /shop\/summary/ } });
});
