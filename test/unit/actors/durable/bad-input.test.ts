/** Waits that no run can mean are refused with a clear error, and nothing of their request is armed. */
import t from "tap";
import { CHILD_DEPTH_MAX, STEP_BYTES_MAX, STEP_INLINE_BYTES_MAX } from "#protocol/limits";
import { operations } from "../../../support/decision-record.ts";
import { createId } from "../../../support/dispatch-steps.ts";
import { arm, parkOf, send, startDurable, stepOf, takeRun } from "../../../support/durable-steps.ts";
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

t.test("a retry delay beyond what can be stored is refused, and the run goes on in its engine", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const sent = send(kit, held, [parkOf(kit, 3, [], { retry: { delay: THREE_THOUSAND_YEARS_SECS, attempt: 1 } })]);
  t.match(sent.reply, { status: 422, body: { error: "retry.delay: times after the year 2255 cannot be stored" } });
  t.equal(kit.run(held.id).state.type, "Running");
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

t.test("flows that call each other are refused as soon as they are more than eight deep, with the whole chain", async (t) => {
  const { kit } = storedKit();
  createId(kit, { flow: "odd", options: { durable: true } });
  kit.send("CancelRun", { target: 1 });
  let held = startDurable(kit, { flow: "even" });
  for (let depth = 1; depth <= CHILD_DEPTH_MAX; depth += 1) {
    t.equal(arm(kit, held, [{ wait: 1, kind: "child", flow: depth % 2 === 1 ? "odd" : "even" }]).reply?.status, 200);
    held = takeRun(kit, `e${depth + 1}`);
  }
  const refused = arm(kit, held, [{ wait: 1, kind: "child", flow: "odd" }]);
  const chain = ["even", "odd", "even", "odd", "even", "odd", "even", "odd", "even"].join(" > ");
  t.match(refused.reply, { status: 422, body: { error: `children are at most 8 deep: ${chain}` } });
  t.strictSame(operations(refused, "put_wait"), []);
  t.strictSame(operations(refused, "insert_run"), []);
});

t.test("a step with a result that is too large, or with none, is refused with the field that is wrong", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const { value: _value, ...without } = stepOf(3, 7);
  const sha256 = "a".repeat(64);
  for (const [step, error] of [
    [{ value: "x".repeat(STEP_INLINE_BYTES_MAX + 1) }, /^events\[0\]\.value: expected at most 64000 characters$/],
    [{ file: { sha256, bytes: STEP_BYTES_MAX + 1 } }, /^events\[0\]\.file\.bytes: expected at most 16777216$/],
    [{ file: { sha256: "../../etc", bytes: 1 } }, /^events\[0\]\.file\.sha256: expected /],
    [{ value: "ü".repeat(STEP_INLINE_BYTES_MAX) }, /^the value of step "step-7" /],
    [{}, /^step "step-7" needs either `value` or `file`$/],
    [{ value: "1", file: { sha256, bytes: 1 } }, /^step "step-7" needs either `value` or `file`$/],
  ] as const) {
    const sent = send(kit, held, [{ ...without, ...step }]);
    t.equal(sent.reply?.status, 422, JSON.stringify(step).slice(0, 80));
    t.match(sent.reply?.body["error"], error);
    t.strictSame(operations(sent, "insert_step"), []);
  }
});
