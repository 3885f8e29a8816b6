import t from "tap";
import { type MessageRows, StreamRing } from "#gateway/stream/stream-ring";
import { StreamHub } from "#gateway/stream/subscribers";
import { STREAM_PIECE_BYTES_MAX, STREAM_RING_COUNT, STREAM_UNSENT_BYTES_MAX } from "#protocol/limits";
import { type Committed, STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import { ManualTime } from "../../support/manual-time.ts";
import { messageRows } from "../../support/message-rows.ts";
import { RecordedExchange } from "../../support/recorded-exchange.ts";
import { framesOf } from "../../support/stream-frames.ts";

function setup(render: MessageRows["render"] = (kind, id) => JSON.stringify({ id, kind })) {
  const time = new ManualTime();
  const rendered: string[] = [];
  const counted: MessageRows["render"] = (kind, id) => {
    rendered.push(`${kind} ${id}`);
    return render(kind, id);
  };
  const ring = new StreamRing(messageRows({ render: counted }));
  const deferred: (() => void)[] = [];
  const hub = new StreamHub(ring, {
    now: time.now,
    window: time.alarm(),
    keepAlive: time.alarm(),
    defer: (work) => deferred.push(work),
  });
  let nextSeq = 101;
  let nextEvent = 1;
  const commit = (messages: [StreamKind, number | string][], logs: number[] = []) => {
    const message: Committed = {
      kind: "Committed",
      replies: [],
      stream: messages.flatMap(([kind, id]) => [STREAM_CODE[kind], id]),
      runs: [],
      first_seq: nextSeq,
      first_event_id: nextEvent,
      logs,
    };
    nextSeq += messages.length;
    nextEvent += messages.filter(([kind]) => kind === "event.created").length;
    hub.published(ring.append(message));
  };
  commit([]);
  const connect = (since: number | null = null) => {
    const exchange = new RecordedExchange({ path: "/api/stream" });
    hub.open(exchange, since);
    return exchange;
  };
  const runDeferred = () => {
    for (let work = deferred.shift(); work !== undefined; work = deferred.shift()) work();
  };
  const skip = (count: number) => {
    nextSeq += count;
  };
  return { time, ring, hub, commit, connect, rendered, runDeferred, skip };
}

const window = 60_000;

t.test("a client is greeted with the newest number and then gets what is new", async (t) => {
  const { time, commit, connect } = setup();
  commit([["run.updated", 1]]);
  const client = connect();
  t.same(framesOf(client), [{ id: null, event: "hello", data: { latest: 101, since: 101 } }]);
  t.same(client.headers.slice(0, 2), ["content-type", "text/event-stream"]);
  commit([["run.updated", 2]]);
  t.equal(framesOf(client).length, 1, "messages wait for their window");
  time.pass(window);
  t.same(framesOf(client).at(-1), { id: 102, event: "run.updated", data: { id: 2, kind: "run.updated" } });
});

t.test("messages about one entity within a window go out as the last one, and numbers grow", async (t) => {
  const { time, commit, connect } = setup();
  const client = connect();
  commit([
    ["run.updated", 1],
    ["task_run.updated", 1],
    ["run.updated", 2],
    ["run.updated", 1],
  ]);
  commit([["run.deleted", 2]]);
  time.pass(window);
  t.same(
    framesOf(client).map(({ id, event, data }) => [id, event, data["id"], data["deleted"] ?? false]),
    [
      [null, "hello", undefined, false],
      [102, "task_run.updated", 1, false],
      [104, "run.updated", 1, false],
      [105, "run.updated", 2, true],
    ],
  );
});

t.test("events are never merged and get their ids from the commit", async (t) => {
  const { time, commit, connect } = setup();
  const client = connect();
  commit([
    ["event.created", 0],
    ["run.updated", 9],
    ["event.created", 0],
  ]);
  time.pass(window);
  t.same(
    framesOf(client)
      .slice(1)
      .map(({ event, data }) => [event, data["id"]]),
    [
      ["event.created", 1],
      ["run.updated", 9],
      ["event.created", 2],
    ],
  );
});

t.test("log messages carry the run and add up their lines", async (t) => {
  const { time, commit, connect } = setup();
  const client = connect();
  commit(
    [
      ["log.appended", 0],
      ["log.appended", 0],
      ["log.appended", 0],
    ],
    [7, 100, 3, 8, 104, 4, 7, 109, 5],
  );
  time.pass(window);
  t.same(
    framesOf(client)
      .slice(1)
      .map(({ id, data }) => [id, data]),
    [
      [102, { run_id: 8, last_id: 104, count: 4 }],
      [103, { run_id: 7, last_id: 109, count: 8 }],
    ],
  );
});

t.test("deletions say so, with a name where a name is the key", async (t) => {
  const { time, commit, connect } = setup();
  const client = connect();
  commit([
    ["variable.deleted", "a b"],
    ["schedule.deleted", 3],
    ["rule.deleted", 4],
  ]);
  time.pass(window);
  t.same(
    framesOf(client)
      .slice(1)
      .map(({ event, data }) => [event, data]),
    [
      ["variable.updated", { name: "a b", deleted: true }],
      ["schedule.updated", { id: 3, deleted: true }],
      ["rule.updated", { id: 4, deleted: true }],
    ],
  );
});

t.test("a row that has gone is left out, and line breaks of stored JSON do not break frames", async (t) => {
  const { time, commit, connect } = setup((_kind, id) => (id === 1 ? null : '{\n "a": 1\n}'));
  const client = connect();
  commit([
    ["run.updated", 1],
    ["run.updated", 2],
  ]);
  time.pass(window);
  t.same(framesOf(client).slice(1), [{ id: 102, event: "run.updated", data: { a: 1 } }]);
});

t.test("each message is rendered once for all clients, and not at all without one", async (t) => {
  const { time, commit, connect, rendered } = setup();
  commit([["run.updated", 1]]);
  time.pass(window);
  t.equal(rendered.length, 0);
  const clients = [connect(), connect(), connect(100)];
  commit([["run.updated", 2]]);
  time.pass(window);
  connect(100);
  t.same(rendered, ["run.updated 1", "run.updated 2"]);
  for (const client of clients) t.equal(framesOf(client).at(-1)?.id, 102);
});

t.test("since replays exactly what was missed, in pieces, then goes live", async (t) => {
  const { time, commit, connect, runDeferred } = setup();
  for (let id = 1; id <= 1000; id += 1) commit([["event.created", 0]]);
  const client = connect(350);
  commit([["event.created", 0]]);
  time.pass(window);
  runDeferred();
  commit([["event.created", 0]]);
  time.pass(window);
  t.same(
    framesOf(client)
      .slice(1)
      .map(({ id }) => id),
    Array.from({ length: 752 }, (_, index) => 351 + index),
  );
});

t.test("numbers too old and numbers beyond the newest get resync, then what is new", async (t) => {
  const { time, commit, connect } = setup();
  for (let id = 0; id < STREAM_RING_COUNT + 10; id += 1) commit([["event.created", 0]]);
  const latest = 100 + STREAM_RING_COUNT + 10;
  for (const since of [0, 109, latest + 1, 2 ** 60]) {
    const client = connect(since);
    t.same(framesOf(client).slice(1), [{ id: latest, event: "resync", data: { latest } }], `since ${since}`);
  }
  const exact = connect(110);
  t.equal(framesOf(exact)[1]?.id, 111, "the oldest that can be replayed");
  const client = connect(0);
  commit([["event.created", 0]]);
  time.pass(window);
  t.equal(framesOf(client).at(-1)?.id, latest + 1);
});

t.test("a gap in the numbers makes every client resync, also those that are slow", async (t) => {
  const { time, commit, connect, skip } = setup();
  const fast = connect();
  const slow = connect();
  slow.takes = false;
  commit([["run.updated", 1]]);
  time.pass(window);
  skip(50);
  commit([["run.updated", 2]]);
  t.equal(framesOf(fast).at(-1)?.event, "resync");
  t.equal(framesOf(slow).at(-1)?.event, "run.updated");
  slow.drain();
  t.same(framesOf(slow).at(-1), { id: 152, event: "resync", data: { latest: 152 } });
  commit([["run.updated", 3]]);
  time.pass(window);
  t.equal(framesOf(fast).at(-1)?.id, 153);
  t.equal(framesOf(slow).at(-1)?.id, 153);
});

t.test("a client that does not read gets nothing more until it does, then what it missed", async (t) => {
  const { time, commit, connect, runDeferred } = setup();
  const slow = connect();
  slow.takes = false;
  for (let round = 0; round < 20; round += 1) {
    commit([["event.created", 0]]);
    time.pass(window);
  }
  t.equal(framesOf(slow).length, 2, "hello and one message");
  slow.drain();
  runDeferred();
  t.same(
    framesOf(slow)
      .slice(1)
      .map(({ id }) => id),
    Array.from({ length: 20 }, (_, index) => 101 + index),
  );
});

t.test("a client that stays behind for longer than the ring gets resync", async (t) => {
  const { time, commit, connect, runDeferred } = setup();
  const slow = connect();
  slow.takes = false;
  for (let id = 0; id < STREAM_RING_COUNT + 100; id += 1) {
    commit([["event.created", 0]]);
    if (id % 100 === 0) time.pass(window);
  }
  time.pass(window);
  slow.drain();
  runDeferred();
  const frames = framesOf(slow);
  t.equal(frames.at(-1)?.event, "resync");
  t.equal(frames.length, 3);
});

t.test("a flood within one window is sent before anything falls out of the ring", async (t) => {
  const { time, commit, connect } = setup();
  const client = connect();
  for (let id = 0; id < 3 * STREAM_RING_COUNT; id += 1) commit([["event.created", 0]]);
  time.pass(window);
  t.equal(framesOf(client).length, 1 + 3 * STREAM_RING_COUNT);
});

t.test("silence is broken by a comment every 15 s", async (t) => {
  const { time, connect, hub } = setup();
  const client = connect();
  time.pass(14_000_000);
  t.equal(client.pieces.length, 1);
  time.pass(2_000_000);
  t.equal(client.pieces.at(-1), ":\n\n");
  client.leave();
  t.equal(hub.size, 0);
  t.equal(time.armed, 0, "no timer without clients");
});

t.test("a failing store makes live clients resync instead of losing messages", async (t) => {
  let broken = true;
  const { time, commit, connect } = setup((_kind, id) => {
    if (broken) throw new Error("disk I/O error");
    return JSON.stringify({ id });
  });
  const client = connect();
  commit([["run.updated", 1]]);
  t.throws(() => time.pass(window), /disk/);
  t.equal(framesOf(client).at(-1)?.event, "resync");
  broken = false;
  commit([["run.updated", 2]]);
  time.pass(window);
  t.equal(framesOf(client).at(-1)?.id, 102);
});

t.test("messages that come again are not sent again; a number where none is expected is a gap", async (t) => {
  const { ring } = setup();
  const commit = (first_seq: number, count: number): Committed => ({
    kind: "Committed",
    replies: [],
    stream: Array.from({ length: count }, (_, index) => [STREAM_CODE["run.updated"], index + 1]).flat(),
    runs: [],
    first_seq,
    first_event_id: 0,
    logs: [],
  });
  ring.append(commit(101, 2));
  ring.append(commit(103, 3));
  t.equal(ring.append(commit(101, 2)), true);
  t.equal(ring.append(commit(103, 3)), true);
  t.equal(ring.latest, 105);
  t.ok(ring.at(101), "what is known stays");
  t.equal(ring.append(commit(106, 0)), true, "the numbers stand where they stood");
  t.equal(ring.append(commit(110, 0)), false, "some were left out");
  t.equal(ring.latest, 109);
  t.equal(ring.oldest, 110);
});

t.test("what is more than a piece goes out in several, with every message once and every line counted", async (t) => {
  const text = "x".repeat(200 * 1024);
  const { time, commit, connect, runDeferred } = setup((kind, id) => JSON.stringify({ id, kind, text }));
  const client = connect();
  const logs: number[] = [];
  const messages = Array.from({ length: 60 }, (_, index): [StreamKind, number | string][] => {
    logs.push(7, index + 1, 1);
    return [
      ["artifact.updated", index],
      ["log.appended", 7],
    ];
  }).flat();
  commit(messages, logs);
  const late = connect(160);
  time.pass(window);
  t.ok(
    client.pieces.every((piece) => piece.length < STREAM_PIECE_BYTES_MAX + 2 * text.length),
    "each is bounded",
  );
  runDeferred();
  const frames = framesOf(client).slice(1);
  t.same(
    frames.filter(({ event }) => event === "artifact.updated").map(({ data }) => data["id"]),
    Array.from({ length: 60 }, (_, index) => index),
  );
  const lines = frames.filter(({ event }) => event === "log.appended").map(({ data }) => Number(data["count"]));
  t.equal(
    lines.reduce((sum, count) => sum + count, 0),
    60,
  );
  const ids = frames.map(({ id }) => id ?? 0);
  t.same(
    ids,
    ids.toSorted((a, b) => a - b),
    "numbers only grow",
  );
  t.equal(ids.at(-1), 220);
  t.same(
    framesOf(late)
      .slice(1)
      .filter(({ event }) => event === "artifact.updated")
      .map(({ id }) => id),
    Array.from({ length: 30 }, (_, index) => 161 + 2 * index),
    "who came with a number in the midst gets what is after it",
  );
});

t.test("readers that do not read hold no more than a bounded sum; the others are told to resync", async (t) => {
  const text = "x".repeat(200 * 1024);
  const { time, commit, connect, runDeferred } = setup((kind, id) => JSON.stringify({ id, kind, text }));
  const readers = Array.from({ length: 1_000 }, () => connect());
  for (const reader of readers) reader.takes = false;
  for (let id = 0; id < 60; id += 1) {
    commit([["artifact.updated", id]]);
    time.pass(window);
    runDeferred();
  }
  const held = readers.flatMap(({ pieces }) => pieces).reduce((sum, piece) => sum + piece.length, 0);
  t.ok(held < STREAM_UNSENT_BYTES_MAX + 2 * text.length, `${held} bytes are held`);
  const [first, last] = [readers[0], readers.at(-1)];
  t.match(last === undefined ? [] : framesOf(last), [{ event: "hello" }, { event: "resync" }]);
  if (first !== undefined) {
    first.drain();
    runDeferred();
    t.equal(framesOf(first).length, 61, "and gets what it missed when it reads again");
  }
});

t.test("bytes given to readers and gaps reported to them are counted", async (t) => {
  const { hub, time, commit, connect, skip } = setup();
  t.same(hub.given, { bytes: 0, gaps: 0 });
  const [one, two] = [connect(), connect()];
  commit([["run.updated", 1]]);
  time.pass(window);
  const bytesOf = () => [...one.pieces, ...two.pieces].join("").length;
  t.same(hub.given, { bytes: bytesOf(), gaps: 0 });
  skip(5);
  commit([["run.updated", 2]]);
  t.same(hub.given, { bytes: bytesOf(), gaps: 2 }, "one gap for each reader");
});
