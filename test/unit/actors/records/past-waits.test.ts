/** What a run waited for, as GET /api/runs/{id}/waited answers it after the run has ended. */
import t from "tap";
import type { PastWait } from "#protocol/records/queue";
import { runQuery } from "#storage/queries/named";
import type { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, poll } from "../../../support/dispatch-steps.ts";
import { moveOf, send, takeRun } from "../../../support/durable-steps.ts";
import type { Store } from "../../../support/storage-rows.ts";
import { COMMIT_US, storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;

function explained({ statements }: Store, id: number, at: number | null = null): PastWait[] {
  return JSON.parse(runQuery(statements, "run_waited", { id, at }) ?? "null") as PastWait[];
}

function end(kit: DispatchKit, held: Parameters<typeof send>[1]): void {
  kit.pass(1_000);
  send(kit, held, [moveOf(kit, 3, "Completed")]);
}

t.test("a run that waited for a resource: the run that held it, at the moment in question", async (t) => {
  const { kit, store } = storedKit();
  const options = { resources: { database: 1 } };
  createId(kit, { options, name: "migration" });
  const holder = takeRun(kit);
  const id = createId(kit, { options });
  const from = kit.nowUs;
  kit.pass(5 * SECOND_US);
  end(kit, holder);
  const held = takeRun(kit, "e2");
  t.equal(held.id, id);
  end(kit, held);
  const waited = explained(store, id);
  t.match(waited, [
    {
      stage: "blocked",
      from: from + COMMIT_US,
      to: from + 5 * SECOND_US + 1_000,
      text: `it waited for database, which run ${holder.id} held when the wait began`,
      object: "database",
      holders: [{ run_id: holder.id, run_name: "migration" }],
    },
  ]);
  t.equal(waited.length, 1);
  t.same(explained(store, id, from + SECOND_US), waited);
  t.same(explained(store, id, kit.nowUs), []);
  t.equal(runQuery(store.statements, "run_waited", { id: 99, at: null }), null);
});

t.test("a run that waited for the cap of its flow, and one that waited for the cap of the server", async (t) => {
  const { kit, store } = storedKit({ settings: { runningMax: 1 } });
  const options = { max_concurrent: 1 };
  createId(kit, { options });
  const first = takeRun(kit);
  const second = createId(kit, { options });
  const other = createId(kit, { flow: "other" });
  poll(kit, "e2", { owns_stop: true });
  kit.pass(2 * SECOND_US);
  end(kit, first);
  kit.pass(SECOND_US);
  kit.send("CancelRun", { target: second });
  kit.send("CancelRun", { target: other });
  const object = "flow:shop/job";
  t.match(explained(store, second), [{ stage: "blocked", object, holders: [{ run_id: first.id }] }]);
  t.match(explained(store, other)[0], { stage: "capped", text: /\[server\] max_running/ });
});

t.test("a run that waited for an engine", async (t) => {
  const { kit, store } = storedKit();
  const id = createId(kit);
  kit.pass(3 * SECOND_US);
  end(kit, takeRun(kit));
  t.match(explained(store, id), [
    { stage: "queued", text: "no engine for the module jobs.py was free", object: null, holders: [] },
  ]);
});

t.test("a run that the overlap policy of its flow ended", async (t) => {
  for (const on_overlap of ["skip", "cancel_new"]) {
    const { kit, store } = storedKit();
    const options = { max_concurrent: 1, on_overlap };
    createId(kit, { options });
    const active = takeRun(kit);
    const id = createId(kit, { options });
    t.equal(kit.state.lookAtRun(id)?.end_time, kit.nowUs, on_overlap);
    const expected = [
      {
        text: `it ended at once: run ${active.id} of its flow had not ended`,
        from: kit.nowUs + COMMIT_US,
        holders: [{ run_id: active.id }],
      },
    ];
    t.match(explained(store, id), expected);
    kit.pass(SECOND_US);
    t.match(explained(store, id, kit.nowUs), expected, "it stays ended");
  }
});

t.test("a run that is late because the server did not run", async (t) => {
  const { kit, store } = storedKit();
  const id = createId(kit);
  const createdUs = kit.nowUs;
  kit.pass(600 * SECOND_US);
  // What a run waits for is not stored.
  kit.run(id).waiting = null;
  kit.reloadEngines(createdUs);
  const startedUs = kit.nowUs;
  kit.pass(2 * SECOND_US);
  end(kit, takeRun(kit));
  const text = `the server, or its core, did not run for a part of the time since ${new Date((createdUs + COMMIT_US) / 1_000).toISOString()}`;
  t.match(explained(store, id), [
    { stage: "restart", from: createdUs + COMMIT_US, to: startedUs, text },
    { stage: "queued", from: startedUs, to: startedUs + 2 * SECOND_US },
  ]);
});

t.test("a wait is listed once it has ended; a run without marks has none", async (t) => {
  const { kit, store } = storedKit();
  const options = { resources: { database: 1 } };
  createId(kit, { options });
  const holder = takeRun(kit);
  const id = createId(kit, { options });
  kit.pass(SECOND_US);
  t.same(explained(store, id), [], "it still waits");
  store.database.exec("UPDATE runs SET marks = NULL");
  end(kit, holder);
  t.same(explained(store, holder.id), []);
});
