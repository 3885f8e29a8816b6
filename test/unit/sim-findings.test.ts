/** What the simulation found, each as a small case. */
import t from "tap";
import { eventNames, operations } from "../support/decision-record.ts";
import { DispatchKit } from "../support/dispatch-kit.ts";
import { create, createId, move, poll, SOURCE_DIR, startRun, workOf } from "../support/dispatch-steps.ts";

t.test("a run that is being cancelled records no event, whatever the name of that state", async (t) => {
  const kit = new DispatchKit();
  const id = startRun(kit);
  t.same(eventNames(move(kit, id, "Cancelling", { name: "winding down" })), []);
  t.equal(kit.run(id).state.name, "winding down");
});

t.test("engines of the pool that outlive a restart of the dispatcher keep their names for themselves", async (t) => {
  const kit = new DispatchKit({ settings: { spawnEngines: true, enginesMax: 4, serverPid: 77 } });
  const key = { source_dir: SOURCE_DIR, module: "other.ts", isolated: false, nice: 0 };
  kit.tell({ kind: "PoolReport", engines: [{ engine_id: "engine-77-3", key }] });
  t.match(create(kit, { module: "flow.ts" }).orders, [{ kind: "Spawn", engine_id: "engine-77-4" }]);
});

t.test("another process under the name of an engine ends the runs of the former one and is stored anew", async (t) => {
  const kit = new DispatchKit({ settings: { crashRetriesDefault: 0 } });
  const id = startRun(kit, "e1");
  poll(kit, "e1", { pid: 4321 });
  t.match(kit.run(id).state, { type: "Failed", details: { crash: "engine process exited unexpectedly" } });
  t.match(operations(create(kit), "put_engine"), [{ id: "e1", pid: 4321 }]);
});

t.test("a poll that the same engine left for another module is answered, and no run is given to it", async (t) => {
  const kit = new DispatchKit();
  const first = poll(kit, "e1");
  const second = poll(kit, "e1", { module: "other.py" });
  t.equal(workOf(second, first.command), null);
  t.equal(
    second.replies.some((reply) => reply.command === first.command),
    true,
  );
  const id = createId(kit);
  t.equal(kit.run(id).assigned, false);
});
