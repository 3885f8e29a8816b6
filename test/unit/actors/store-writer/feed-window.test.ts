import t from "tap";
import { GATEWAY } from "#actors/names";
import { FeedWindow } from "#actors/store-writer/feed-window";
import { StoreWriter } from "#actors/store-writer/store-writer";
import { FEED_BYTES_MAX, FEED_COMMITS_MAX } from "#protocol/limits";
import { type Committed, type Primitive, STREAM_CODE } from "#protocol/wire/feed";
import { Outbox } from "#runtime/effect";
import { emptyDecision } from "#storage/write/batch";
import { SqliteStore } from "#storage/write/sqlite-store";
import { Writer } from "#storage/write/writer";
import { SimulatedDisk } from "../../../sim/simulated-disk.ts";

const RUN = STREAM_CODE["run.updated"];
const EVENT = STREAM_CODE["event.created"];

function commit(first_seq: number, stream: Primitive[], replies: Primitive[] = []): Committed {
  return { kind: "Committed", replies, stream, runs: [], first_seq, first_event_id: 50, logs: [] };
}

t.test("so many commits go out whatever their size, more of them within so many bytes", async (t) => {
  const window = new FeedWindow(2, 200);
  // Each commit has two entries: 64 bytes.
  const next = (seq: number) => window.admit(commit(seq, [RUN, 1, RUN, 2])).stream.length;
  t.equal(next(1), 4);
  t.equal(next(3), 4);
  t.equal(next(5), 4, "beyond two commits, within the bytes");
  t.equal(next(7), 0, "beyond both");
  t.equal(window.read(2), false);
  t.equal(next(9), 0, "it must catch up first");
  t.equal(window.read(6), true);
  t.equal(next(11), 4);
  t.equal(window.read(100), false, "nothing was left out since");
  const large = new FeedWindow(2, 1);
  t.equal(large.admit(commit(1, [RUN, 1])).stream.length, 2);
  t.equal(large.admit(commit(2, [RUN, 1])).stream.length, 2);
  t.equal(large.admit(commit(3, [RUN, 1])).stream.length, 0);
});

t.test(
  "the gateway is asked how far it has read after a part of the bound, after many commits, and when it is behind",
  async (t) => {
    const asks = (window: FeedWindow, seq: number, entries = 1) =>
      window.admit(commit(seq, Array<Primitive[]>(entries).fill([RUN, 1]).flat())).acknowledge;
    // An entry takes 32 bytes: an eighth of the bound are four.
    const byBytes = new FeedWindow(0, 1024);
    t.same(
      [1, 2, 3, 4, 5].map((seq) => asks(byBytes, seq)),
      [undefined, undefined, undefined, 4, undefined],
    );
    t.equal(asks(byBytes, 6, 4), 9);
    const byCommits = new FeedWindow(0, 1_000_000);
    const asked = Array.from({ length: 128 }, (_, index) => asks(byCommits, index + 1));
    t.same(
      asked.flatMap((seq) => seq ?? []),
      [64, 128],
    );
    const behind = new FeedWindow(1, 1024);
    asks(behind, 1);
    t.equal(asks(behind, 2, 100), 1, "what went out before is read once this commit is handled");
    t.equal(asks(behind, 102), undefined, "one answer is enough");
    t.equal(behind.read(1), true);
  },
);

t.test("answers go out whatever is left out, those that are events too", async (t) => {
  const window = new FeedWindow(0, 0);
  const left = window.admit(commit(7, [EVENT, 0, RUN, 1, EVENT, 99], [5, 200, "{}"]));
  t.same(left, { ...commit(0, []), replies: [5, 200, "{}", 99, 201, 51], acknowledge: 0 });
  const plain = commit(0, [], [6, 200, null]);
  t.equal(window.admit(plain), plain);
});

t.test("a gateway that has just started is behind nothing", async (t) => {
  const window = new FeedWindow(1, 1);
  window.admit(commit(1, [RUN, 1]));
  t.equal(window.admit(commit(2, [RUN, 1])).stream.length, 0);
  window.reset();
  t.equal(window.admit(commit(3, [RUN, 1])).stream.length, 2);
});

t.test("the writer leaves out what a slow gateway has not read, and reports the gap when it has caught up", async (t) => {
  const disk = new SimulatedDisk();
  const writer = new StoreWriter(
    new SqliteStore(new Writer(disk.handle, { stream: "new_block", nowUs: () => 0 }), () => undefined),
    { nowUs: () => 0, done: () => undefined },
  );
  let number = 0;
  const sent = (message: Parameters<StoreWriter["receive"]>[0]): Committed[] => {
    const out = new Outbox();
    writer.receive(message, out);
    return out.effects.flatMap((effect) =>
      effect.kind === "Send" && effect.to === GATEWAY ? [effect.message as Committed] : [],
    );
  };
  const store = (entries: number): Committed | undefined => {
    number += 1;
    const stream = Array.from({ length: entries }, () => [RUN, 1]).flat();
    const place = { number, generation: 1, refusals: 0, epoch: null } as const;
    const batch = { kind: "Batch", ...place, ...emptyDecision(), stream } as const;
    return sent({ batch: { ...batch, replies: [number, 200, "{}"] }, logs: { blocks: [], appended: [], nextLogId: 1 } })[0];
  };
  const entries = Math.ceil(FEED_BYTES_MAX / 32 / FEED_COMMITS_MAX);
  const first = store(entries);
  for (let count = 1; count < FEED_COMMITS_MAX; count += 1) t.equal(store(entries)?.stream.length, 2 * entries);
  t.match(store(1), { replies: [number, 200, "{}"], stream: [], first_seq: 0 }, "answers flow");
  const newest = (first?.first_seq ?? 0) + FEED_COMMITS_MAX * entries - 1;
  t.same(sent({ kind: "FeedRead", seq: newest - 1 }), []);
  t.same(sent({ kind: "FeedRead", seq: newest }), [{ ...commit(newest + 2, []), first_event_id: 0 }]);
  t.match(store(1), { stream: [RUN, 1], first_seq: newest + 2 });
  disk.close();
});
