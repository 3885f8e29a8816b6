import t from "tap";
import { StreamRing } from "#gateway/stream/stream-ring";
import { streamStart } from "#gateway/stream/stream-since";
import { StreamHub } from "#gateway/stream/subscribers";
import { STREAM_FILTER_ITEMS_MAX, STREAM_RING_COUNT } from "#protocol/limits";
import { STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import type { MessageSubject } from "#storage/queries/message-subject";
import { ManualTime } from "../../support/manual-time.ts";
import { messageRows } from "../../support/message-rows.ts";
import { RecordedExchange } from "../../support/recorded-exchange.ts";
import { framesOf } from "../../support/stream-frames.ts";

const WINDOW_US = 60_000;
const NONE: MessageSubject = { run: null, flow: null, project: null, tags: [], hasParameters: () => false };

function setup() {
  const time = new ManualTime();
  const rendered: string[] = [];
  const asked: string[] = [];
  const rows = messageRows({
    render: (kind, id) => {
      rendered.push(`${kind} ${id}`);
      return id === 404 ? null : JSON.stringify({ id });
    },
    subject: (kind, id) => {
      asked.push(`${kind} ${id}`);
      const ofRun = { run: Number(id), flow: Number(id) % 2, project: "p", tags: ["t"] };
      return { ...ofRun, hasParameters: ({ n }) => n === String(id) };
    },
    eventNames: (ids) => new Map(ids.map((id) => [id, "run.failed"])),
  });
  const ring = new StreamRing(rows);
  const hub = new StreamHub(ring, { now: time.now, window: time.alarm(), keepAlive: time.alarm(), defer: (work) => work() });
  let nextSeq = 101;
  const commit = (...messages: [StreamKind, number | string][]) => commitOf([], ...messages);
  /** With the runs of the messages about task runs, events and artifacts. */
  const commitOf = (runs: number[], ...messages: [StreamKind, number | string][]) => {
    const stream = messages.flatMap(([kind, id]) => [STREAM_CODE[kind], id]);
    const first_seq = nextSeq;
    nextSeq += messages.length;
    const rest = { replies: [], runs, first_seq, first_event_id: 1, logs: [7, 3, 3] };
    hub.published(ring.append({ kind: "Committed", stream, ...rest }));
    time.pass(WINDOW_US);
  };
  commit();
  const connect = (query: string) => {
    const exchange = new RecordedExchange({ path: "/api/stream" });
    const start = streamStart(query, "");
    if (!start.ok) throw new Error(start.refusal.message);
    hub.open(exchange, start.since, start.filter);
    return exchange;
  };
  const skip = (count: number) => {
    nextSeq += count;
  };
  return { time, hub, commit, commitOf, connect, rendered, asked, skip };
}

const seen = (exchange: RecordedExchange) => framesOf(exchange).map(({ id, event, data }) => [event, id ?? data["id"] ?? null]);

t.test("a message that no reader wants is neither rendered nor looked up", async (t) => {
  const { commit, connect, rendered, asked } = setup();
  const client = connect("run_id=7&kinds=run.updated");
  commit(["run.updated", 8], ["task_run.updated", 7], ["log.appended", 0], ["event.created", 0]);
  t.same(seen(client), [["hello", null]]);
  t.same([rendered, asked], [[], []]);
});

t.test("the run of a message decides without a read, and what is known of a run is read once", async (t) => {
  const { commit, commitOf, connect, rendered, asked } = setup();
  const [ofRun, ofFlow] = [connect("run_id=7"), connect("flow_id=1")];
  commitOf([8, 7, 8], ["task_run.updated", 1], ["task_run.updated", 2], ["event.created", 0], ["log.appended", 0]);
  t.same(seen(ofRun).slice(1), [
    ["task_run.updated", 102],
    ["log.appended", 104],
  ]);
  t.same(asked, ["run.updated 8", "run.updated 7"], "for the filter by flow");
  t.same(rendered, ["task_run.updated 2"]);
  commitOf([7], ["artifact.updated", 3]);
  t.equal(asked.length, 2);
  t.same([seen(ofRun).at(-1), seen(ofFlow).at(-1)], Array(2).fill(["artifact.updated", 105]));
  commit(["run.deleted", 7]);
  commitOf([7], ["event.created", 0]);
  t.equal(asked.length, 3, "a deleted run is read again");
});

t.test("readers with one filter share the look-ups and the texts with readers of other filters", async (t) => {
  const { commit, connect, rendered, asked } = setup();
  const clients = [connect("flow_id=1"), connect("flow_id=1"), connect("project=p"), connect("tags=t")];
  commit(["run.updated", 7], ["run.updated", 8]);
  t.same(asked, ["run.updated 7", "run.updated 8"]);
  t.same(rendered.sort(), ["run.updated 7", "run.updated 8"]);
  t.same(
    clients.map((client) => seen(client).length),
    [2, 2, 3, 3],
  );
});

t.test("equal filters in another order are one filter", async (t) => {
  const start = (query: string) => {
    const parsed = streamStart(query, "");
    return parsed.ok ? parsed.filter?.key : parsed.refusal.message;
  };
  t.equal(start("kinds=run.updated,log.appended&tags=b,a"), start("tags=a,b,a&kinds=log.appended,run.updated"));
  t.not(start("tags=a"), start("names=a"));
  t.equal(start("since=5"), undefined, "a query without a filter has none");
});

t.test("deletions pass where what was deleted cannot be known", async (t) => {
  const { commit, connect } = setup();
  const clients = ["run_id=1", "run_id=2", "project=other", "kinds=task_run.updated", "tags=x"].map(connect);
  commit(["run.deleted", 1], ["schedule.deleted", 5], ["rule.deleted", 6]);
  t.same(
    clients.map((client) =>
      seen(client)
        .slice(1)
        .map(([event]) => event),
    ),
    [["run.updated"], [], ["run.updated", "schedule.updated"], [], ["run.updated"]],
  );
});

t.test("a filter by parameters passes what belongs to such a run; equal ones are one filter", async (t) => {
  const { commit, connect } = setup();
  const client = connect("parameters.n=7");
  commit(["run.updated", 7], ["run.updated", 8], ["task_run.updated", 7], ["schedule.deleted", 7]);
  t.same(
    seen(client)
      .slice(1)
      .map(([event]) => event),
    ["run.updated", "task_run.updated"],
  );
  const key = (query: string) => {
    const start = streamStart(query, "");
    return start.ok ? start.filter?.key : start.refusal.message;
  };
  t.equal(key("parameters.a=1&parameters.b=2"), key("parameters.b=2&parameters.a=1"));
  t.not(key("parameters.a=1"), key("parameters.a=2"));
});

t.test("a filter by name concerns events only", async (t) => {
  const { commit, connect } = setup();
  const clients = ["names=run.*", "names=order.paid", "kinds=event.created&names=run.failed", "names=*"].map(connect);
  commit(["event.created", 0], ["run.updated", 3]);
  t.same(
    clients.map((client) =>
      seen(client)
        .slice(1)
        .map(([event]) => event),
    ),
    [["event.created", "run.updated"], ["run.updated"], ["event.created"], ["event.created", "run.updated"]],
  );
});

t.test("a snapshot is the run as it is now, after hello and after each resync, and its deletion where it is gone", async (t) => {
  const { commit, connect, skip } = setup();
  for (let count = 0; count < STREAM_RING_COUNT + 5; count += 1) commit(["run.updated", 9]);
  const now = connect("run_id=7&snapshot=1");
  t.same(seen(now), [
    ["hello", null],
    ["run.updated", 7],
  ]);
  t.equal(framesOf(now)[1]?.id, null, "a snapshot has no number");
  const old = connect("run_id=7&snapshot=1&since=101");
  t.same(
    seen(old).map(([event]) => event),
    ["hello", "resync", "run.updated"],
  );
  const gone = connect("run_id=404&snapshot=1");
  t.same(framesOf(gone)[1]?.data, { id: 404, deleted: true });
  skip(10);
  commit(["run.updated", 9]);
  t.same(
    seen(now).map(([event]) => event),
    ["hello", "run.updated", "resync", "run.updated"],
  );
});

t.test("a filtered reader that takes nothing gets what it missed, or resync once it has left the ring", async (t) => {
  const { commit, connect } = setup();
  const slow = connect("run_id=7");
  slow.takes = false;
  commit(["run.updated", 7]);
  const blockedAt = framesOf(slow).length;
  commit(["run.updated", 7]);
  t.equal(framesOf(slow).length, blockedAt, "nothing is written to a reader that takes nothing");
  slow.drain();
  t.same(seen(slow).slice(1), [
    ["run.updated", 101],
    ["run.updated", 102],
  ]);
  slow.takes = false;
  commit(["run.updated", 7]);
  for (let count = 0; count <= STREAM_RING_COUNT; count += 1) commit(["run.updated", 9]);
  slow.drain();
  t.equal(seen(slow).at(-1)?.[0], "resync");
});

t.test("a reader that leaves takes its filter with it, and a hub without readers sends nothing", async (t) => {
  const { time, hub, commit, connect, asked } = setup();
  const clients = [connect("flow_id=1"), connect("flow_id=2"), connect("")];
  t.equal(hub.size, 3);
  for (const client of clients) client.leave();
  t.equal(hub.size, 0);
  commit(["run.updated", 1]);
  t.same(asked, []);
  t.equal(time.armed, 0, "no timer is left");
});

t.test("readers with filters get resync from the state that replaces a failed one", async (t) => {
  const { hub, connect, commit, time } = setup();
  const client = connect("run_id=7&snapshot=1");
  commit(["run.updated", 7]);
  const ring = new StreamRing(messageRows({ render: (_kind, id) => JSON.stringify({ id }), subject: () => NONE }));
  ring.continueAfter(101);
  const next = new StreamHub(ring, { now: time.now, window: time.alarm(), keepAlive: time.alarm(), defer: (work) => work() });
  next.takeOver(hub);
  t.same(seen(client).slice(-2), [
    ["resync", 101],
    ["run.updated", 7],
  ]);
  const stream = [STREAM_CODE["run.updated"], 8, STREAM_CODE["run.updated"], 7];
  next.published(ring.append({ kind: "Committed", replies: [], stream, runs: [], first_seq: 102, first_event_id: 1, logs: [] }));
  time.pass(WINDOW_US);
  t.same(seen(client).at(-1), ["run.updated", 103]);
});

t.test("a wrong filter is refused with what is wrong about it", async (t) => {
  const refusal = (query: string) => {
    const start = streamStart(query, "");
    return start.ok ? null : [start.refusal.status, start.refusal.message];
  };
  const many = Array.from({ length: STREAM_FILTER_ITEMS_MAX + 1 }, (_, index) => `t${index}`).join(",");
  t.match(refusal("kinds=run.update"), [422, /^query parameter kinds: unknown kind "run.update"; known: run.updated, /]);
  t.same(refusal("kinds="), [422, "query parameter kinds: the list is empty"]);
  t.same(refusal(`tags=${many}`), [422, `query parameter tags: expected at most ${STREAM_FILTER_ITEMS_MAX} entries`]);
  t.same(refusal("snapshot=1"), [422, "query parameter snapshot: it needs run_id"]);
  t.match(refusal("names=a*b"), [422, /"a\*b": expected a name, or a prefix ending in \*$/]);
  t.match(refusal("names=run.compleeted"), [422, /run.completed/]);
  t.match(refusal("run_id=x"), [400, /run_id: expected an integer/]);
});
