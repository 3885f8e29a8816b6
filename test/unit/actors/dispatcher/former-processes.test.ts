/** Engines whose name passes from one process to another. */
import t from "tap";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, poll } from "../../../support/dispatch-steps.ts";
import { answerOf, begin, exchange, heldOf, moved } from "../../../support/exchange-steps.ts";

t.test(
  "a request of a former process under the name of an engine takes nothing from the process that has the name now",
  async (t) => {
    const kit = new DispatchKit();
    createId(kit);
    const [former] = heldOf(exchange(kit, "e1", 1, { pid: 1000 }));
    begin(kit, "e1", 2, former === undefined ? [] : [former]);
    kit.tell({ kind: "EngineGone", engine_id: "e1", cause: "killed", details: {} });
    const id = createId(kit);
    const held = heldOf(exchange(kit, "e1", 1, { pid: 2000 }));
    t.match(held, [{ run_id: id }]);
    const line = { run_id: 1, level: 20, logger: "l", timestamp: 1, message: "its last words" };
    const late = exchange(kit, "e1", 3, {
      pid: 1000,
      held: [former],
      reports: [{ ...former, events: [{ kind: "logs", seq: 3, logs: [line] }, ...moved(kit, 4, "Completed")] }],
    });
    t.match(answerOf(late), { exchange: 3, exit: true, runs: [], stop: [{ ...former, reason: "gone" }] });
    t.match(answerOf(late)?.reports, [{ run_id: 1, last_seq: 4, run_state: { type: "Crashed" } }], "its log lines are kept");
    t.equal(kit.run(1).state.type, "Crashed");
    t.match(poll(kit, "e1", { pid: 1000 }).reply?.body, { run: null, exit: true });
    t.match(kit.run(id), { assigned: true, engine_pid: 2000 });
    t.equal(exchange(kit, "e1", 2, { pid: 2000, held }).replies.length, 0, "the engine goes on");
    kit.pass(60_000_000);
    exchange(kit, "e1", 1, { pid: 1000 });
    t.equal(kit.run(id).engine_pid, 1000, "after a minute it is another process that has been given the same id");
  },
);

t.test("the end of a former process ends no run of the process that has the name of its engine now", async (t) => {
  const kit = new DispatchKit();
  poll(kit, "e1", { pid: 1000 });
  poll(kit, "e1", { pid: 2000 });
  const id = createId(kit);
  kit.tell({ kind: "EngineGone", engine_id: "e1", pid: 1000, cause: null });
  t.match(kit.run(id), { assigned: true, engine_pid: 2000, state: { type: "Scheduled" } });
  kit.tell({ kind: "EngineGone", engine_id: "e1", pid: 2000, cause: null });
  t.equal(kit.run(id).state.type, "Crashed");
});

t.test("a held request of a process that is gone is answered, so that no restarted core gets it again", async (t) => {
  const kit = new DispatchKit();
  const polled = poll(kit, "e1", { pid: 1000 });
  const exchanged = exchange(kit, "e2", 4, { pid: 2000 });
  t.same([...polled.replies, ...exchanged.replies], []);
  const ends = [1000, 2000].map((pid, at) => kit.tell({ kind: "EngineGone", engine_id: `e${at + 1}`, pid, cause: null }));
  t.match(ends[0]?.replies, [{ command: polled.command, status: 200, body: { run: null, exit: false } }]);
  t.match(ends[1]?.replies, [{ command: exchanged.command, status: 200, body: { exchange: 4, runs: [], exit: false } }]);
});
