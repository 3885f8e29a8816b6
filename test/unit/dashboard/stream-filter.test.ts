/** What the dashboard asks of the stream, from what the page listens for. */
import t from "tap";
import type { LiveMessages } from "../../../dashboard/live/messages.ts";
import { covers, filterOf, isSame, type Listening, runOf } from "../../../dashboard/live/stream-filter.ts";

const run7: Listening = { kind: "run.updated", run: 7 };
const log7: Listening = { kind: "log.appended", run: 7 };
const all: Listening = { kind: "run.updated", run: null };

t.test("one run, as long as nobody listens for others", async (t) => {
  t.same(filterOf([run7, log7, run7]), { run: 7, kinds: ["log.appended", "run.updated"] });
  t.same(filterOf([run7, log7, all]), { run: null, kinds: ["log.appended", "run.updated"] });
  t.same(filterOf([run7, { ...log7, run: 8 }]), { run: null, kinds: ["log.appended", "run.updated"] });
  t.same(filterOf([]), { run: null, kinds: ["flow.registered"] }, "never all messages");
});

t.test("a stream is kept as long as it brings everything", async (t) => {
  const whole = filterOf([all, { kind: "event.created", run: null }]);
  t.ok(covers(whole, filterOf([run7])));
  t.notOk(covers(filterOf([run7]), filterOf([all])), "of one run: not of all");
  t.notOk(covers(filterOf([run7]), filterOf([{ ...run7, run: 8 }])));
  t.notOk(covers(filterOf([all]), whole), "a further kind");
  t.ok(isSame(filterOf([run7, log7]), filterOf([log7, run7])));
  t.notOk(isSame(whole, filterOf([all])));
});

t.test("the run of a message", async (t) => {
  t.equal(runOf("run.updated", { id: 7, deleted: true }), 7);
  t.equal(runOf("log.appended", { run_id: 8, last_id: 1, count: 1 }), 8);
  t.equal(runOf("event.created", { id: 1, run_id: null } as LiveMessages["event.created"]), null);
  t.equal(runOf("rule.updated", { id: 7, deleted: true }), null, "the id of another record is no run");
});
