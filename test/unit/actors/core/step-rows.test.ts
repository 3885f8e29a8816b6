import t from "tap";
import type { TaskRun } from "#actors/core/state/task-run";
import { Turn } from "#actors/core/turn";
import { createIdSource } from "#actors/ids";
import type { State } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { Outbox } from "#runtime/effect";
import { putOperation } from "#storage/write/ops";
import { operationAt } from "../../../support/bulk-operations.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { createId } from "../../../support/dispatch-steps.ts";

/** An array of operations that counts how often a row was written a second time, by name. */
function watchedOperations(): { ops: Primitive[]; byName: () => number } {
  let count = 0;
  let last: string | symbol = "";
  const ops = new Proxy<Primitive[]>([], {
    set: (target, key, value) => {
      // A push sets an element and the length; the length alone is set back before a row is written by name.
      if (key === "length" && last === "length") count += 1;
      last = key;
      return Reflect.set(target, key, value);
    },
  });
  return { ops, byName: () => count };
}

const STATE: State = { type: "Running", name: "Running", timestamp: START_US, message: null, details: {} };

const TASK: TaskRun = {
  ...{ id: 1, external_id: "0190000f-0000-7000-8000-000000000001", run_id: 1, name: "t", task_key: "k", dynamic_key: "k-0" },
  ...{ parents: [], state: STATE, start_time: START_US, end_time: null, total_run_time: null },
  ...{ crash_count: 0, failure_count: 0, created_at: START_US },
};

t.test("the rows that every run writes name their columns in order, which halves their cost", async (t) => {
  const kit = new DispatchKit();
  const run = kit.state.runs.get(createId(kit));
  if (run === undefined) throw new Error("the run is not there");
  const { ops, byName } = watchedOperations();
  const turn = new Turn(kit.state, START_US, createIdSource(), new Outbox(), 1);
  turn.decision.ops = ops;
  turn.rows.newRun(run);
  turn.rows.touchTask(TASK);
  turn.events.ofRun("run.running", run);
  turn.events.ofTask("task_run.running", run, TASK, STATE);
  turn.rows.countRun(run.flow, null, "Running");
  turn.rows.countTask(run.flow, null, "Running");
  turn.rows.countEnded(run.flow, "", { state: STATE, total_run_time: 1 }, 1);
  turn.rows.write();
  turn.rows.touchRun(run, true);
  turn.rows.finish();
  const written = new Set<string>();
  for (let at = 0; at < ops.length; ) {
    const { name, values } = operationAt(ops, at);
    written.add(name);
    at += values.length + 1;
  }
  const expected = ["insert_run", "update_run", "put_task_run", "insert_event", "count_runs", "count_task_runs", "count_ended"];
  t.same(written, new Set(expected), "all of them");
  t.equal(byName(), 0);
  putOperation(ops, "put_rerun", { due: 2, run_id: 1 });
  t.equal(byName(), 1, "another order is noticed");
});
