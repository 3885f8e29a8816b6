import t from "tap";
import { CommitClient, type GenerationRequest } from "#actors/store-writer/commit-client";
import { type Batch, emptyDecision } from "#storage/write/batch";

function setup() {
  const sent: (GenerationRequest | Batch)[] = [];
  const rejections: string[] = [];
  const late: unknown[] = [];
  const client = new CommitClient({
    source: 7,
    send: (message) => sent.push(message.kind === "Batch" ? { ...message } : message),
    acknowledged: (messages) => late.push(...messages.map(({ message }) => message)),
    reload: (error) => rejections.push(error.message),
  });
  let turn = 0;
  return {
    client,
    rejections,
    /** Messages that have waited for a commit and have left. */
    late,
    /** A decision with a message that waits for its commit. */
    order: (message: string, decision = emptyDecision()) => {
      turn += 1;
      client.deliver({ decision, turn, afterCommit: [{ to: "engine-processes", message }] }, "ordinary");
    },
    /** The decision of one step: a change, and the answer to command `id`. */
    decide: (id: number) => {
      turn += 1;
      client.deliver({ decision: { ...emptyDecision(), ops: [0], replies: [id, 200, null] }, turn }, "ordinary");
    },
    /** A decision without a change. */
    answer: (id: number) => {
      turn += 1;
      client.deliver({ decision: { ...emptyDecision(), replies: [id, 200, null] }, turn }, "ordinary");
    },
    /** The writers announce their start; with `source`, in answer to that client. */
    writers: (generation: number, source: number | null = null, number = 0) =>
      client.deliver(
        { kind: "WriterStarted", source, generation, number, last_seq: 5, refusals: 0, read_only: false },
        "ordinary",
      ),
    acknowledge: (number: number, last_seq = 9) =>
      client.deliver({ kind: "Acknowledged", number, first_event_id: 0, last_seq, took_us: 3 }, "ordinary"),
    reject: (refusals: number, number = 0) =>
      client.deliver({ kind: "Rejected", number, refusals, error: "disk full", disk_full: true }, "ordinary"),
    /** The answers of the batch that was sent last. */
    replies: () => sent.filter((message): message is Batch => message.kind === "Batch").at(-1)?.replies ?? [],
    /** Batches sent since the last call: number, generation, ids of the answers. */
    take: () =>
      sent.splice(0).map((message) =>
        message.kind === "Batch"
          ? {
              number: message.number,
              generation: message.generation,
              ids: message.replies.filter((_, index) => index % 3 === 0),
            }
          : message.kind,
      ),
  };
}

t.test("the decisions of a turn leave as one numbered batch", async (t) => {
  const { client, decide, writers, take } = setup();
  writers(1);
  decide(11);
  decide(12);
  t.same(take(), [], "nothing leaves before the turn ends");
  client.flush();
  t.same(take(), [{ number: 1, generation: 1, ids: [11, 12] }]);
  client.flush();
  t.same(take(), [], "nothing to say");
});

t.test("while a batch is in flight the next one collects", async (t) => {
  const { client, decide, writers, acknowledge, take } = setup();
  writers(1);
  for (const id of [1, 2, 3, 4]) {
    decide(id);
    client.flush();
  }
  t.same(take(), [{ number: 1, generation: 1, ids: [1] }]);
  t.equal(client.committedTurn, 0);
  acknowledge(1);
  t.same(take(), [{ number: 2, generation: 1, ids: [2, 3, 4] }]);
  t.equal(client.committedTurn, 1);
  t.equal(client.lastSeq, 9);
  acknowledge(2);
  t.equal(client.committedTurn, 4);
});

t.test("nothing leaves before the writers are known; then it does at once", async (t) => {
  const { client, decide, writers, take } = setup();
  decide(1);
  client.flush();
  t.same(take(), []);
  writers(4);
  t.same(take(), [{ number: 1, generation: 4, ids: [1] }]);
});

t.test("writers that start again get the unacknowledged batch again, and only then what is new", async (t) => {
  const { client, decide, writers, acknowledge, take } = setup();
  writers(1);
  for (const id of [1, 2, 3]) {
    decide(id);
    client.flush();
  }
  acknowledge(1);
  take();
  writers(2);
  t.same(take(), [{ number: 2, generation: 2, ids: [2, 3] }]);
  writers(2);
  t.same(take(), [], "a repeated announcement resends nothing");
  decide(4);
  client.flush();
  t.same(take(), []);
  acknowledge(2);
  t.same(take(), [{ number: 3, generation: 2, ids: [4] }]);
});

/** The writers end without having committed, and start again under the next generation. */
function endLives({ writers, take }: ReturnType<typeof setup>, from: number, lives: number, number: number): void {
  for (let life = 1; life <= lives; life += 1) {
    take();
    writers(from + life, null, number);
  }
}

t.test("a single decision that ends the writers three times is given up, and its command answered with 500", async (t) => {
  const setUp = setup();
  const { client, decide, writers, acknowledge, take, replies, rejections } = setUp;
  writers(1);
  decide(5);
  client.flush();
  endLives(setUp, 1, 2, 0);
  t.same(take(), [{ number: 1, generation: 3, ids: [5] }], "two lives may be chance");
  decide(6);
  writers(4);
  t.match(rejections, [/1 decisions ended the writers 3 times/]);
  t.match(replies(), [5, 500, /internal error in command 5/]);
  t.same(take(), [{ number: 1, generation: 4, ids: [5] }], "its number goes to the next batch");
  decide(7);
  client.flush();
  acknowledge(1);
  t.same(take(), [], "what was decided on the state that is reloaded is dropped");
  t.equal(client.committedTurn, 0, "nothing of it counts as committed");
  await client.settled();
  decide(6);
  client.flush();
  t.same(take(), [{ number: 1, generation: 4, ids: [6] }]);
});

t.test("of several decisions that end the writers, each is committed alone after the reload", async (t) => {
  const setUp = setup();
  const { client, decide, writers, acknowledge, take, replies, rejections } = setUp;
  writers(1);
  for (const id of [1, 2, 3]) decide(id);
  client.flush();
  endLives(setUp, 1, 3, 0);
  t.match(rejections, [/3 decisions ended the writers 3 times/]);
  t.same(take(), [], "no command is answered: the gateway sends them again");
  await client.settled();
  client.announce(9);
  for (const id of [1, 2, 3]) decide(id);
  client.flush();
  acknowledge(1);
  t.same(take(), [
    { number: 1, generation: 4, ids: [] },
    { number: 1, generation: 4, ids: [1] },
  ]);
  acknowledge(1);
  t.equal(client.committedTurn, 4, "the turn of the decision that was committed alone");
  endLives(setUp, 4, 2, 1);
  writers(7, null, 1);
  t.match(replies(), [2, 500, /internal/]);
  t.match(rejections, [/3 decisions/, /1 decisions/]);
});

t.test("messages that wait for their commit leave at its acknowledgement, and are dropped with a refused one", async (t) => {
  const { client, decide, order, writers, acknowledge, reject, late } = setup();
  writers(1);
  order("with rows", { ...emptyDecision(), ops: [0] });
  client.flush();
  order("without rows");
  client.flush();
  t.same(late, []);
  acknowledge(1);
  t.same(late, ["with rows"]);
  acknowledge(2);
  t.same(late, ["with rows", "without rows"], "in the order of the decisions");
  order("refused", { ...emptyDecision(), ops: [0] });
  client.flush();
  reject(1, 1);
  decide(1);
  await client.settled();
  t.equal(late.length, 2);
});

t.test("lives of the writers do not count for a batch that is stored or that a read-only store could not take", async (t) => {
  const { client, decide, writers, take, rejections } = setup();
  writers(1);
  decide(1);
  client.flush();
  for (let generation = 2; generation <= 9; generation += 1) writers(generation, null, 1);
  t.same(take().at(-1), { number: 1, generation: 9, ids: [1] });
  t.same(rejections, []);
});

t.test("a client that has heard of no writers asks for them", async (t) => {
  const { client, writers, take } = setup();
  const settled = client.settled();
  t.same(take(), ["GenerationRequest"]);
  writers(1);
  await settled;
  await client.settled();
  t.same(take(), [], "it asks once");
});

t.test("the answer to a former core thread settles nothing: its batches may still be on their way", async (t) => {
  const { client, writers } = setup();
  let done = false;
  const settled = client.settled().then(() => {
    done = true;
  });
  writers(1, 6);
  await Promise.resolve();
  t.equal(done, false);
  writers(1, 7);
  await settled;
});

t.test("settled waits for everything collected and under way", async (t) => {
  const { client, decide, writers, acknowledge } = setup();
  writers(1);
  decide(1);
  let done = false;
  const settled = client.settled().then(() => {
    done = true;
  });
  client.flush();
  decide(2);
  acknowledge(1);
  await Promise.resolve();
  t.equal(done, false);
  client.flush();
  acknowledge(2);
  await settled;
});

t.test("an announcement travels behind everything collected so far", async (t) => {
  const sent: Batch[] = [];
  const client = new CommitClient({
    source: 1,
    send: (message) => message.kind === "Batch" && sent.push(message),
    reload: () => undefined,
  });
  client.deliver(
    { kind: "WriterStarted", source: null, generation: 1, number: 0, last_seq: 0, refusals: 0, read_only: false },
    "ordinary",
  );
  client.deliver({ decision: { ...emptyDecision(), replies: [1, 200, null] }, turn: 1 }, "ordinary");
  client.announce(42);
  t.match(sent, [{ epoch: 42, replies: [1, 200, null] }]);
});

t.test(
  "a refused batch discards what follows and is told once; until writes work answers alone pass, then the group loads again",
  async (t) => {
    const { client, decide, answer, writers, reject, rejections, acknowledge, take } = setup();
    writers(1);
    for (const id of [1, 2, 3]) {
      decide(id);
      client.flush();
    }
    take();
    reject(1);
    reject(1);
    t.equal(rejections.length, 1);
    t.match(rejections[0], /disk full/);
    decide(4);
    client.flush();
    t.same(take(), []);
    await client.settled();
    t.ok(client.readOnly);
    answer(5);
    const row = { ...emptyDecision(), ops: [1], replies: [6, 200, null] };
    client.deliver({ decision: row, turn: 9 }, "ordinary");
    client.flush();
    t.match(take(), [{ ids: [5] }], "a read is answered, a write is not");
    acknowledge(1);
    client.deliver({ kind: "Writable" }, "ordinary");
    t.match(rejections, [/disk full/, /takes writes again/]);
    decide(7);
    await client.settled();
    decide(8);
    client.flush();
    t.match(take(), [{ number: 1, ids: [8] }], "what was decided in between is not true");
  },
);

t.test("writers that start again after a refusal take writes again", async (t) => {
  const { client, decide, writers, reject, take } = setup();
  writers(1);
  decide(1);
  client.flush();
  reject(1);
  take();
  writers(2);
  // The group reloads before it decides anything; that needs no Writable message.
  await client.settled();
  decide(2);
  client.flush();
  t.match(take(), [{ generation: 2, ids: [2] }]);
});

t.test("a batch without changes leaves its number to the next; a core goes on after the newest commit", async (t) => {
  const { client, decide, answer, writers, acknowledge, take } = setup();
  writers(1, null, 40);
  answer(1);
  client.flush();
  acknowledge(41);
  decide(2);
  client.flush();
  acknowledge(41);
  decide(3);
  client.flush();
  t.match(take(), [
    { number: 41, ids: [1] },
    { number: 41, ids: [2] },
    { number: 42, ids: [3] },
  ]);
});

t.test("after a refusal the number of the store counts: the refused batch may have been stored before", async (t) => {
  const { client, decide, writers, reject, take } = setup();
  writers(1);
  decide(1);
  client.flush();
  writers(2, null, 1);
  reject(1, 1);
  client.deliver({ kind: "Writable" }, "ordinary");
  await client.settled();
  decide(2);
  client.flush();
  t.match(take(), [
    { number: 1, generation: 1, ids: [1] },
    { number: 1, generation: 2, ids: [1] },
    { number: 2, ids: [2] },
  ]);
});
