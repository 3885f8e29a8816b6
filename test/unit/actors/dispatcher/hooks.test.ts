/** Hooks of flows from the served directory: called by the server for ends that no engine reports itself. */
import t from "tap";
import type { StateType } from "#protocol/records/state";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, type KitOptions, type Outcome } from "../../../support/dispatch-kit.ts";
import { create, createId, move, poll, startRun, workOf } from "../../../support/dispatch-steps.ts";

const HOOKED = {
  flow: "hooked",
  module: "a.ts",
  options: { hooks: ["Completed", "Failed", "Cancelled", "Crashed"], has_crash_hooks: true },
};
const OWNS = { module: "a.ts", owns_stop: true };

function kitOf(settings: KitOptions["settings"] = {}): DispatchKit {
  return new DispatchKit({ settings: { crashRetriesDefault: 1, ...settings } });
}

/** States of the hooks called by a decision. */
function hooks(outcome: Outcome): StateType[] {
  return operations(outcome, "put_outbound").map(({ request }) => {
    const { call } = JSON.parse(String(request)) as { call: { type: string; state: { type: StateType } } };
    return call.state.type;
  });
}

t.test("a run that ends without its engine has its hook called, told what an engine would tell", async (t) => {
  const kit = kitOf();
  const parameter_schema = { type: "object", properties: { n: { type: "integer" } } };
  const id = createId(kit, { ...HOOKED, name: "one", parameter_schema, parameters: { n: 4 } });
  const cancelled = kit.send("CancelRun", { target: id });
  t.match(operations(cancelled, "put_outbound"), [{ kind: "hook", firing_id: null, rule_id: null, action: null }]);
  const [sent] = kit.tell({ kind: "SendOutbound" }).outbound;
  t.match(sent, {
    kind: "UserCall",
    firing_id: null,
    call: {
      ...{ type: "hook", module: "a.ts", project: "shop", flow: "hooked" },
      run: { id, name: "one", parameters: { n: 4 }, attempt: 0 },
      state: { type: "Cancelled" },
    },
  });
});

t.test("ends by the server, by people and by rules call hooks; ends by the engine that holds the run do not", async (t) => {
  const kit = kitOf({ crashRetriesDefault: 0 });
  const first = startRun(kit, "e1", HOOKED, OWNS);
  t.same(hooks(kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null })), ["Failed"], "crash limit reached");
  t.equal(kit.run(first).state.message, "crash limit reached: engine process exited unexpectedly");
  const forced = createId(kit, HOOKED);
  t.same(hooks(move(kit, forced, "Completed", { force: true })), ["Completed"]);
  const held = createId(kit, HOOKED);
  const item = workOf(poll(kit, "e2", OWNS));
  t.equal(item?.["run_id"], held);
  const lease = Number(item?.["lease"]);
  for (const type of ["Pending", "Running", "Failed"]) t.same(hooks(move(kit, held, type, { lease })), [], type);
  const unleased = startRun(kit, "e3", HOOKED, OWNS);
  t.same(hooks(move(kit, unleased, "Failed")), ["Failed"], "a person moves it");
});

t.test("a crash has its hook called by the server, whoever noticed it, and is no job for an engine", async (t) => {
  const kit = kitOf();
  startRun(kit, "e1", HOOKED, OWNS);
  t.same(hooks(kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null })), ["Crashed"]);
  const id = createId(kit, HOOKED);
  const item = workOf(poll(kit, "e2", OWNS));
  const lease = Number(item?.["lease"]);
  move(kit, id, "Running", { lease });
  t.same(hooks(move(kit, id, "Crashed", { lease, message: "out of memory" })), ["Crashed"]);
  t.equal(workOf(poll(kit, "e2", OWNS)), null);
});

t.test("flows from elsewhere keep to their engines: a crash is a job, other states are theirs", async (t) => {
  const kit = kitOf({ servedDir: "/elsewhere" });
  startRun(kit, "e1", HOOKED, OWNS);
  t.same(hooks(kit.tell({ kind: "EngineGone", engine_id: "e1", cause: null })), []);
  t.equal(workOf(poll(kit, "e2", OWNS))?.["kind"], "hooks");
  t.same(hooks(kit.send("CancelRun", { target: createId(kit, HOOKED) })), []);
});

t.test("a state without a hook, and a run that was skipped, call nothing", async (t) => {
  const kit = kitOf();
  const only = { ...HOOKED, options: { hooks: ["Completed"] } };
  t.same(hooks(kit.send("CancelRun", { target: createId(kit, only) })), []);
  t.same(hooks(move(kit, createId(kit, only), "Completed", { name: "Skipped" })), []);
  const overlapping = { ...HOOKED, flow: "narrow", options: { hooks: ["Completed"], max_concurrent: 1, on_overlap: "skip" } };
  startRun(kit, "e1", overlapping, OWNS);
  const skipped = create(kit, overlapping);
  t.match(skipped.reply?.body, { state: { name: "Skipped" } });
  t.same(hooks(skipped), []);
});

t.test("what a hook logged and published becomes part of its run, once", async (t) => {
  const kit = kitOf();
  const id = createId(kit, HOOKED);
  kit.send("CancelRun", { target: id });
  const line = { run_id: id, level: 20, logger: "millrace.run", timestamp: 5, message: "told" };
  const items = [
    { kind: "logs", logs: [line] },
    { kind: "custom", name: "a.b", payload: { n: 1 }, task_run_external_id: null },
    {
      kind: "task_run_created",
      external_id: "00000000-0000-7000-8000-00000000000a",
      name: "t",
      task_key: "t",
      dynamic_key: "t-0",
    },
  ];
  const done = kit.tell({ kind: "HookDone", id: 1, run_id: id, items, error: null });
  t.match(operations(done, "delete_outbound"), [{ id: 1 }]);
  t.match(done.logs, [{ run_id: id, lines: [[null, 20, "millrace.run", 5, "told"]] }]);
  t.match(operations(done, "insert_event"), [{ name: "a.b", run_id: id }]);
  t.same(operations(done, "put_task_run"), []);
  t.same(kit.tell({ kind: "HookDone", id: 1, run_id: id, items, error: null }).ops, []);
});

t.test(
  "a hook that failed, or reported nonsense, is said so in the log of its run; a run that is gone needs no word",
  async (t) => {
    const kit = kitOf();
    const [failed, nonsense, gone] = [1, 2, 3].map(() => {
      const id = createId(kit, HOOKED);
      kit.send("CancelRun", { target: id });
      return id;
    });
    if (failed === undefined || nonsense === undefined || gone === undefined) throw new Error("three runs");
    const first = kit.tell({ kind: "HookDone", id: 1, run_id: failed, items: [], error: "it took longer than 60 s" });
    t.match(first.logs, [
      { run_id: failed, lines: [[null, 40, "millrace.run", kit.nowUs, "a hook failed: it took longer than 60 s"]] },
    ]);
    const second = kit.tell({ kind: "HookDone", id: 2, run_id: nonsense, items: [{ kind: "logs", logs: 5 }, 7], error: null });
    t.match(second.logs[0]?.lines[0]?.[4], /a hook failed: what it reported cannot be stored/);
    kit.send("DeleteRun", { target: gone });
    t.same(kit.tell({ kind: "HookDone", id: 3, run_id: gone, items: [], error: "x" }).logs, []);
  },
);
