import t from "tap";
import { type RunWait, RunWaits } from "#gateway/commands/run-waits";
import { StreamRing } from "#gateway/stream/stream-ring";
import { RUN_WAITS_MAX, STREAM_RING_COUNT } from "#protocol/limits";
import { STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import { ManualTime } from "../../support/manual-time.ts";
import { messageRows } from "../../support/message-rows.ts";
import { RecordedExchange } from "../../support/recorded-exchange.ts";

const SECOND = 1_000_000;

/** Runs 1 to 9 exist; `ended` holds those that have ended. */
function setup() {
  const time = new ManualTime();
  const ended = new Set<number>();
  const deleted = new Set<number>();
  const rendered: number[] = [];
  const defects: unknown[] = [];
  let fails = false;
  const ring = new StreamRing(messageRows());
  const make = (of: StreamRing) =>
    new RunWaits({
      now: time.now,
      alarm: time.alarm(),
      ring: of,
      render: (run) => {
        if (fails) throw new Error("no store");
        rendered.push(run);
        return run > 9 || deleted.has(run) ? null : JSON.stringify({ id: run, ended: ended.has(run) });
      },
      hasEnded: (run) => (run > 9 || deleted.has(run) ? null : ended.has(run)),
      defect: (cause) => defects.push(cause),
    });
  const waits = make(ring);
  let nextSeq = 101;
  const commit = (messages: [StreamKind, number][], to = { ring, waits }) => {
    const stream = messages.flatMap(([kind, id]) => [STREAM_CODE[kind], id]);
    const seamless = to.ring.append({
      kind: "Committed",
      replies: [],
      stream,
      runs: [],
      first_seq: nextSeq,
      first_event_id: 1,
      logs: [],
    });
    nextSeq += messages.length;
    to.waits.published(stream, seamless);
  };
  const ask = (run: number, wait: Partial<RunWait> = {}) => {
    const exchange = new RecordedExchange();
    waits.serve(exchange, { run, waitUs: 30 * SECOND, until: "ended", since: null, ...wait });
    return exchange;
  };
  const skip = (count: number) => {
    nextSeq += count;
  };
  const fail = () => {
    fails = true;
  };
  commit([]);
  return { time, ended, deleted, rendered, defects, ring, waits, make, commit, ask, skip, fail };
}

t.test("a request for a run that has not ended waits for its end, and the answer has the number it shows", async (t) => {
  const { ended, commit, ask, waits } = setup();
  const one = ask(1);
  const two = ask(2);
  commit([["run.updated", 1]]);
  t.equal(one.status, 0, "a change is no end");
  ended.add(1);
  commit([
    ["task_run.updated", 1],
    ["run.updated", 1],
  ]);
  t.same([one.status, one.json()], [200, { stream_seq: 103, id: 1, ended: true }]);
  t.equal(two.status, 0);
  t.equal(waits.size, 1);
});

t.test("a request until changed is answered with the next change, or at once if there was one since its number", async (t) => {
  const { commit, ask } = setup();
  commit([["run.updated", 1]]);
  const now = ask(1, { until: "changed", since: 100 });
  t.match(now.json(), { stream_seq: 101 });
  const parked = ask(1, { until: "changed", since: 101 });
  commit([
    ["run.updated", 2],
    ["log.appended", 1],
  ]);
  t.equal(parked.status, 0);
  commit([["run.updated", 1]]);
  t.match(parked.json(), { stream_seq: 104 });
});

t.test("a number from before a restart, or too old, or not yet given, is answered at once", async (t) => {
  const { commit, ask } = setup();
  for (let count = 0; count < STREAM_RING_COUNT + 2; count += 1) commit([["run.updated", 9]]);
  const latest = 102 + STREAM_RING_COUNT;
  for (const since of [0, 5, latest + 1, 2 ** 40]) {
    for (const until of ["ended", "changed"] as const)
      t.match(ask(1, { until, since }).json(), { stream_seq: latest }, `${since}`);
  }
  t.equal(ask(1, { until: "changed", since: latest }).status, 0);
});

t.test("when the time is over the answer is the run as it is, and without time at once", async (t) => {
  const { time, ask, waits } = setup();
  const parked = ask(1, { waitUs: 3 * SECOND });
  time.pass(2 * SECOND);
  t.equal(parked.status, 0);
  time.pass(2 * SECOND);
  t.match(parked.json(), { id: 1, ended: false });
  t.match(ask(1, { waitUs: 0 }).json(), { id: 1, ended: false });
  t.same([waits.size, time.armed], [0, 0]);
});

t.test("a run that does not exist, or is deleted during the wait, is 404", async (t) => {
  const { deleted, commit, ask } = setup();
  t.equal(ask(10).status, 404);
  const parked = [ask(1), ask(1, { until: "changed" })];
  deleted.add(1);
  commit([["run.deleted", 1]]);
  t.same(
    parked.map(({ status }) => status),
    [404, 404],
  );
});

t.test("many requests for one run are answered with one reading of it", async (t) => {
  const { ended, rendered, commit, ask } = setup();
  const parked = Array.from({ length: 100 }, () => ask(3));
  ended.add(3);
  commit([["run.updated", 3]]);
  t.ok(parked.every(({ status }) => status === 200));
  t.same(rendered, [3]);
});

t.test("a client that leaves frees its place", async (t) => {
  const { time, ask, waits, commit, ended, rendered } = setup();
  const parked = [ask(1), ask(1), ask(2)];
  for (const client of parked) client.leave();
  t.equal(waits.size, 0);
  ended.add(1);
  commit([["run.updated", 1]]);
  time.pass(60 * SECOND);
  t.same(rendered, []);
});

t.test("a gap in the feed checks every waiting request again", async (t) => {
  const { ended, commit, ask, skip } = setup();
  const over = ask(1);
  const open = ask(2);
  const changed = ask(3, { until: "changed" });
  ended.add(1);
  skip(50);
  commit([["run.updated", 9]]);
  t.same(
    [over, open, changed].map(({ status }) => status),
    [200, 0, 200],
  );
});

t.test("the state that replaces a failed one takes the waiting requests over", async (t) => {
  const { time, ended, ask, waits, make, commit } = setup();
  const over = ask(1);
  const open = ask(2, { waitUs: 5 * SECOND });
  const left = ask(3);
  ended.add(1);
  const ring = new StreamRing(messageRows());
  ring.continueAfter(100);
  const next = make(ring);
  next.takeOver(waits);
  t.same([over.status, open.status, waits.size, next.size], [200, 0, 0, 2]);
  left.leave();
  t.equal(next.size, 1, "a client leaves the new table");
  commit([["run.updated", 9]], { ring, waits: next });
  t.equal(open.status, 0);
  time.pass(6 * SECOND);
  t.equal(open.status, 200, "with the time it had left");
});

t.test("a creation is answered 201 with the ended run, or with the run as it is when the time is over", async (t) => {
  const { time, ended, commit, waits } = setup();
  const [quick, slow, done] = [new RecordedExchange(), new RecordedExchange(), new RecordedExchange()];
  waits.created(quick, '{"id":1}', 10 * SECOND);
  waits.created(slow, '{"id":2}', 10 * SECOND);
  ended.add(1);
  commit([
    ["run.updated", 1],
    ["run.updated", 2],
  ]);
  t.match([quick.status, quick.json()], [201, { id: 1, ended: true }]);
  waits.created(done, '{"id":1}', 10 * SECOND);
  t.match([done.status, done.json()], [201, { id: 1, ended: true }]);
  time.pass(11 * SECOND);
  t.match([slow.status, slow.json()], [201, { id: 2, ended: false }]);
});

t.test("beyond the limit a wait is refused, and a creation is answered without waiting", async (t) => {
  const { ask, waits } = setup();
  for (let count = 0; count < RUN_WAITS_MAX; count += 1) ask(1);
  t.equal(ask(1).status, 503);
  const created = new RecordedExchange();
  waits.created(created, '{"id":2}', SECOND);
  t.match([created.status, created.json()], [201, { id: 2, ended: false }]);
});

t.test("a stop answers every request, and later ones at once", async (t) => {
  const { time, ask, waits } = setup();
  const parked = ask(1);
  waits.stop();
  t.match(parked.json(), { id: 1, ended: false });
  t.match(ask(1).json(), { id: 1, ended: false });
  t.equal(time.armed, 0);
});

t.test("a store that cannot be read costs the requests of one run", async (t) => {
  const { ended, defects, commit, ask, fail, waits } = setup();
  const parked = ask(1);
  const other = ask(2);
  ended.add(1);
  fail();
  commit([["run.updated", 1]]);
  t.same([parked.wasCut, other.open, waits.size, defects.length], [true, true, 1, 1]);
});
