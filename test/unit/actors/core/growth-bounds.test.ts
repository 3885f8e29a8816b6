/**
 * Memory that the core uses for data it was sent: each kind has a bound; beyond it the data is refused with a message, or the
 * oldest is dropped.
 */
import t from "tap";
import { EXPECTATIONS_OPEN_MAX, LEASED_RESOURCES_MAX, NAMES_COUNT_MAX, RULES_BYTES_MAX, RULES_COUNT_MAX } from "#protocol/limits";
import { completeSpec } from "#protocol/records/rule-spec";
import { eventNames } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, poll, startRun } from "../../../support/dispatch-steps.ts";

const TICK_US = 250_000;
const RULE = { do: [{ kind: "cancel_run" }] };

t.test("rules are bounded in number and in bytes together; a change that makes a rule smaller is taken", async (t) => {
  const kit = new DispatchKit();
  const large = { ...RULE, name: "large", when: { flows: Array.from({ length: 500 }, (_, index) => `flow ${index}`) } };
  const id = Number(kit.send("CreateRule", { body: large }).reply?.body["id"]);
  const taken = kit.state.rules.length;
  kit.state.rules.length = RULES_BYTES_MAX - 10;
  t.match(kit.send("CreateRule", { body: { ...RULE, name: "r" } }).reply, {
    status: 503,
    body: { error: /there may be 10000 rules/ },
  });
  t.equal(kit.send("PatchRule", { target: id, body: { when: { flows: ["a"] } } }).reply?.status, 200);
  kit.state.rules.length -= RULES_BYTES_MAX - 10 - taken;
  kit.send("DeleteRule", { target: id });
  t.equal(kit.state.rules.length, 0, "what is gone takes nothing");
  for (let index = 0; index < RULES_COUNT_MAX; index += 1) kit.send("CreateRule", { body: { ...RULE, name: `r${index}` } });
  t.equal(kit.state.rules.rules.size, RULES_COUNT_MAX);
  t.equal(kit.send("CreateRule", { body: { ...RULE, name: "one more" } }).reply?.status, 503);
});

t.test("leases of user code hold a bounded number of resources; names that are used no more are forgotten", async (t) => {
  const kit = new DispatchKit();
  const run = createId(kit);
  const acquire = (prefix: string) => {
    const names = Array.from({ length: NAMES_COUNT_MAX }, (_, index) => [`${prefix}-${index}`, 1]);
    return kit.send("AcquireLease", { body: { run_id: run, resources: Object.fromEntries(names), wait_ms: 0 } }).reply;
  };
  const leases: unknown[] = [];
  for (let count = 0; count < LEASED_RESOURCES_MAX / NAMES_COUNT_MAX; count += 1)
    leases.push(acquire(String(count))?.body["lease"]);
  t.match(acquire("more"), { status: 503, body: { error: /leases hold 100000 resources/ } });
  for (const lease of leases) kit.send("ReleaseLease", { body: { run_id: run, lease } });
  t.equal(acquire("more")?.status, 200);
  t.ok(kit.state.ledger.list().length <= 10_000 + NAMES_COUNT_MAX, `${kit.state.ledger.list().length} names`);
});

t.test("a key that no run and no engine waits for takes no memory", async (t) => {
  const kit = new DispatchKit();
  for (let count = 0; count < 100; count += 1) poll(kit, "e1", { module: `m${count}.py`, wait_ms: 0 });
  const run = createId(kit);
  poll(kit, "waiting", { module: "other.py" });
  kit.pass(TICK_US);
  t.equal([...kit.state.queue.keys()].length, 2);
  t.equal(kit.run(run).place, "ready");
});

t.test("crash hooks that wait for an engine are bounded; the oldest go, and the log says so", async (t) => {
  const kit = new DispatchKit({ settings: { crashRetriesDefault: 1_000_000, servedDir: null } });
  const said: string[] = [];
  // Engines of low priority execute the runs, and none polls for the jobs of normal priority.
  const wish = { options: { has_crash_hooks: true, priority: -1 } };
  for (let count = 0; count < 1_003; count += 1) {
    startRun(kit, `e${count}`, wish, { nice: 1, pid: 1_000 + count });
    const { serverLog } = kit.tell({ kind: "EngineGone", engine_id: `e${count}`, cause: null });
    said.push(...serverLog);
  }
  t.equal([...kit.state.jobs.values()].flat().length, 1_000);
  t.equal(said.filter((text) => text.includes("a crash hook is left out")).length, 3);
});

t.test("open expectations are bounded: one more is a failed action of its rule", async (t) => {
  const kit = new DispatchKit();
  const body = {
    name: "r",
    when: { events: ["a.b"] },
    unless: { events: ["a.c"] },
    within: 60,
    do: [{ kind: "webhook", url: "http://127.0.0.1/" }],
  };
  t.equal(kit.send("CreateRule", { body }).reply?.status, 201);
  const row = { rule_id: 1, armed_at: 0, deadline: 9e15, flow_id: null, run_id: null };
  for (let id = 1; id <= EXPECTATIONS_OPEN_MAX; id += 1) kit.state.rules.expectations.add({ ...row, id, key: `k${id}` });
  const { cursor } = kit.state.rules;
  const arm = {
    kind: "arm",
    rule_id: 1,
    event_id: 5,
    key: "one more",
    run_id: null,
    flow_id: null,
    occurred: kit.nowUs,
  } as const;
  const refused = kit.tell({ kind: "React", core: kit.epoch, from: cursor, to: 5, reactions: [arm] });
  t.same(eventNames(refused), ["rule.action.failed"]);
  t.equal(kit.state.rules.expectations.size, EXPECTATIONS_OPEN_MAX);
});

t.test("rules look at no further event while so much is under way to the outside", async (t) => {
  const kit = new DispatchKit();
  const checked = completeSpec({ do: [{ kind: "webhook", url: "http://127.0.0.1/", body: "x".repeat(100_000) }] }, () => null);
  if (!checked.ok) throw new Error(checked.error);
  kit.send("CreateRule", {
    body: { name: "r", once: "never", max_per_minute: 0, do: [{ kind: "webhook", url: "http://127.0.0.1/" }] },
  });
  const actions = checked.spec.do.map((action, index) => ({ index, kind: action.kind, action }));
  let event = 0;
  while (!kit.state.rules.isBackedUp && event < 1_000) {
    event += 1;
    const trigger = { event_id: event, name: "a.b", run_id: null, flow_id: null, project: null, depth: 0 };
    const reaction = { kind: "fire", rule_id: 1, trigger, created_by: null, actions } as const;
    kit.tell({ kind: "React", core: kit.epoch, from: kit.state.rules.cursor, to: event, reactions: [reaction] });
  }
  t.ok(event > 500 && event < 700, `${event} messages of 100 kB are 64 MiB`);
  kit.tell({ kind: "OutboundDone", id: 1, firing_id: 1, result: { detail: { status: 200 } } });
  t.equal(kit.state.rules.isBackedUp, false, "an answer lets it go on");
});
