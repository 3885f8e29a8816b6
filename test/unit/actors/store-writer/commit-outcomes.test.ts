/** What the store writer does with each outcome of the port, from a store that answers as a test says. */
import t from "tap";
import { COMMITS, GATEWAY, SERVER_LOG } from "#actors/names";
import { type CommitDone, type Probed, type Reconnected, StoreWriter } from "#actors/store-writer/store-writer";
import { Outbox } from "#runtime/effect";
import type { CommitOutcome, CommitRequest, Reconnection, WritableStore } from "#storage/port";
import { type Batch, emptyDecision } from "#storage/write/batch";

type Answer = CommitOutcome | Promise<CommitOutcome>;

class AnsweringStore implements WritableStore {
  readonly owner = { member: 1, epoch: 1 };
  readonly latestSeq = 7;
  readonly nextLogId = 1;
  readonly decidedCommands = [];
  number = 0;
  readonly asked: CommitRequest[] = [];
  answers: Answer[] = [];

  commit(request: CommitRequest): Answer {
    this.asked.push(request);
    return this.answers.shift() ?? this.applied(request.batch.number);
  }

  applied(number: number): CommitOutcome {
    this.number = number;
    return { kind: "applied", result: { number, first_event_id: 5, first_seq: 8, logs: [] } };
  }

  probes: (boolean | Promise<boolean>)[] = [];

  probe(): boolean | Promise<boolean> {
    return this.probes.shift() ?? true;
  }

  /** Null while the store is connected. */
  connecting: Promise<Reconnection> | null = null;

  reconnect(): Promise<Reconnection> | null {
    return this.connecting;
  }

  close(): void {
    // Nothing is open.
  }
}

function setup(...answers: Answer[]) {
  const clock = { us: 0 };
  const store = new AnsweringStore();
  store.answers = answers;
  const reported: (CommitDone | Probed | Reconnected)[] = [];
  const writer = new StoreWriter(store, { nowUs: () => clock.us, done: (message) => void reported.push(message) });
  const logged: string[] = [];
  const receive = (message: Parameters<StoreWriter["receive"]>[0]) => {
    const out = new Outbox();
    writer.receive(message, out);
    const sentTo = (name: string): unknown[] =>
      out.effects.flatMap((effect) => (effect.kind === "Send" && effect.to === name ? [effect.message] : []));
    const timers = out.effects.flatMap((effect) => (effect.kind === "SetTimer" ? [effect.key] : []));
    logged.push(...sentTo(SERVER_LOG).map((line) => (line as { text: string }).text));
    return { core: sentTo(COMMITS), gateway: sentTo(GATEWAY), timers };
  };
  return { store, clock, reported, logged, receive };
}

function request(number: number, refusals = 0): CommitRequest {
  const place = { kind: "Batch", number, generation: 1, refusals, epoch: null } as const;
  const batch: Batch = { ...place, ...emptyDecision(), ops: [0], replies: [number * 10, 200, null] };
  return { batch, logs: { blocks: [], appended: [], nextLogId: 1 } };
}

t.test("applied and already: answered once, with the numbers of the commit", async (t) => {
  const already: CommitOutcome = { kind: "already", result: { number: 2, first_event_id: 9, first_seq: 3, logs: [1, 2, 3] } };
  const { store, receive } = setup();
  t.match(receive(request(1)), {
    core: [{ kind: "Acknowledged", number: 1, first_event_id: 5 }],
    gateway: [{ kind: "Committed", replies: [10, 200, null], first_seq: 8 }],
  });
  store.answers = [already];
  t.match(receive(request(2)), {
    core: [{ kind: "Acknowledged", number: 2, first_event_id: 9 }],
    gateway: [{ kind: "Committed", replies: [20, 200, null], first_seq: 3, logs: [1, 2, 3] }],
  });
});

t.test("refused: read-only until a probe succeeds", async (t) => {
  const { store, receive } = setup({ kind: "refused", error: "the disk is full", disk_full: true });
  t.match(receive(request(1)), {
    core: [{ kind: "Rejected", number: 0, refusals: 1, error: "the disk is full", disk_full: true }],
    gateway: [{ kind: "ReadOnly", on: true, status: 507 }],
    timers: ["probe"],
  });
  t.match(receive({ kind: "Probe" }), { core: [{ kind: "Writable" }] });
  t.match(receive(request(1, 1)), { core: [{ kind: "Acknowledged", number: 1 }] });
  t.equal(store.asked.length, 2);
});

t.test("a probe that takes its time: read-only until the store has answered, and probed again after a refusal", async (t) => {
  const { store, reported, receive } = setup({ kind: "refused", error: "the disk is full", disk_full: true });
  receive(request(1));
  const probed = async (answer: Promise<boolean>) => {
    store.probes = [answer];
    t.same(receive({ kind: "Probe" }), { core: [], gateway: [], timers: [] }, "nothing is said before the answer");
    t.same(receive(request(1, 1)), { core: [], gateway: [], timers: [] });
    await new Promise((resolve) => setImmediate(resolve));
    const done = reported.pop();
    if (done === undefined) throw new Error("the answer is not reported");
    return { first: receive(done), repeated: receive(done) };
  };
  const nothing = { core: [], gateway: [], timers: [] };
  t.same(await probed(Promise.resolve(false)), { first: { ...nothing, timers: ["probe"] }, repeated: nothing });
  t.same(await probed(Promise.reject(new Error("the connection was lost"))), {
    first: { ...nothing, timers: ["probe"] },
    repeated: nothing,
  });
  t.match((await probed(Promise.resolve(true))).first, {
    core: [{ kind: "Writable" }],
    gateway: [{ kind: "ReadOnly", on: false }],
    timers: [],
  });
});

t.test("fenced: read-only for good, and the reason is said", async (t) => {
  const { receive, store } = setup({ kind: "fenced" });
  const fenced = receive(request(1));
  t.match(fenced.gateway, [{ kind: "ReadOnly", on: true, status: 503, error: /another Millrace has taken over the store/ }]);
  t.match(fenced.core, [{ kind: "Rejected", refusals: 1 }]);
  t.same(fenced.timers, [], "it does not probe");
  t.same(receive(request(1, 1)), { core: [], gateway: [], timers: [] });
  t.equal(store.asked.length, 1);
});

t.test("unknown: nothing is said, all else waits, and the same request is made until the store answers", async (t) => {
  const unknown: CommitOutcome = { kind: "unknown", error: "the connection was lost" };
  const { store, receive } = setup(unknown, unknown);
  const first = request(1);
  t.same(receive(first), { core: [], gateway: [], timers: ["again"] });
  t.same(receive({ kind: "ReportGeneration", source: 3, generation: 1 }), { core: [], gateway: [], timers: [] });
  t.same(receive(request(2)), { core: [], gateway: [], timers: [] });
  t.same(receive({ kind: "CommitAgain" }), { core: [], gateway: [], timers: ["again"] });
  const answered = receive({ kind: "CommitAgain" });
  t.match(answered.core, [
    { kind: "Acknowledged", number: 1 },
    { kind: "WriterStarted", source: 3, number: 1 },
    { kind: "Acknowledged", number: 2 },
  ]);
  t.equal(answered.core.length, 3);
  t.ok(
    store.asked.slice(0, 3).every((asked) => asked === first),
    "never another content",
  );
  t.equal(store.asked.length, 4);
});

t.test("unknown for a second: clients are told that the store takes no writes, until it answers", async (t) => {
  const unknown: CommitOutcome = { kind: "unknown", error: "the connection was lost" };
  const { clock, receive } = setup(unknown, unknown, unknown, unknown);
  receive(request(1));
  clock.us = 999_999;
  t.same(receive({ kind: "CommitAgain" }).gateway, []);
  clock.us = 1_000_000;
  t.match(receive({ kind: "CommitAgain" }).gateway, [
    { kind: "ReadOnly", on: true, status: 503, error: "the connection was lost" },
  ]);
  clock.us = 2_000_000;
  t.same(receive({ kind: "CommitAgain" }).gateway, [], "told once");
  const answered = receive({ kind: "CommitAgain" });
  t.match(answered.gateway, [
    { kind: "ReadOnly", on: false },
    { kind: "Committed", first_seq: 8 },
  ]);
  t.match(answered.core, [{ kind: "Acknowledged", number: 1 }], "the core learns nothing of it");
});

t.test("a commit that takes its time: what arrives meanwhile waits in its order", async (t) => {
  const late = Promise.withResolvers<CommitOutcome>();
  const { store, reported, receive } = setup(late.promise);
  t.same(receive(request(1)), { core: [], gateway: [], timers: [] });
  t.same(receive({ kind: "Look" }), { core: [], gateway: [], timers: ["look"] });
  receive(request(2));
  t.equal(store.asked.length, 1, "one commit at a time");
  late.resolve(store.applied(1));
  await late.promise;
  const [done] = reported;
  if (done === undefined) throw new Error("the outcome is not reported");
  const answered = receive(done);
  t.match(answered.core, [
    { kind: "Acknowledged", number: 1 },
    { kind: "Acknowledged", number: 2 },
  ]);
  t.same(answered.timers, []);
  t.same(receive(done), { core: [], gateway: [], timers: [] }, "the answer to a commit that is over");
});

t.test("a commit without any answer: clients are told after ten seconds", async (t) => {
  const late = Promise.withResolvers<CommitOutcome>();
  const { store, clock, reported, receive } = setup(late.promise);
  receive(request(1));
  clock.us = 9_999_999;
  t.same(receive({ kind: "Look" }).gateway, []);
  clock.us = 10_000_000;
  t.match(receive({ kind: "Look" }).gateway, [{ kind: "ReadOnly", on: true, status: 503, silent: true, since: 0 }]);
  t.same(receive({ kind: "Look" }).gateway, [], "told once");
  late.resolve(store.applied(1));
  await late.promise;
  const [done] = reported;
  if (done === undefined) throw new Error("the outcome is not reported");
  t.match(receive(done).gateway, [{ kind: "ReadOnly", on: false }, { kind: "Committed" }]);
});

t.test("a connection that is lost between two commits", async (t) => {
  const nothing = { core: [], gateway: [], timers: [] };
  /** Lets the store answer the attempt that the look begins. */
  const look = async ({ store, reported, receive }: ReturnType<typeof setup>, outcome: Reconnection) => {
    store.connecting = Promise.resolve(outcome);
    t.same(receive({ kind: "Look" }), { ...nothing, timers: ["look"] });
    await new Promise((resolve) => setImmediate(resolve));
    store.connecting = null;
    const done = reported.pop();
    if (done === undefined) throw new Error("the attempt is not reported");
    return { first: receive(done), repeated: receive(done) };
  };

  await t.test("made again at once: only the log says so", async (t) => {
    const all = setup();
    t.same(await look(all, { kind: "connected" }), { first: nothing, repeated: nothing });
    t.same(all.logged, ["the connection to the store was lost, and was made again after 0 ms"]);
    t.same(all.receive({ kind: "Look" }), { ...nothing, timers: ["look"] });
  });

  await t.test("not made again within a second: clients are told, until it is", async (t) => {
    const all = setup();
    const away: Reconnection = { kind: "unreachable", error: "nothing answers" };
    t.same((await look(all, away)).first, nothing);
    all.clock.us = 1_000_000;
    t.match((await look(all, away)).first.gateway, [
      { kind: "ReadOnly", on: true, status: 503, error: "nothing answers", since: 0, silent: true },
    ]);
    t.match((await look(all, { kind: "connected" })).first.gateway, [{ kind: "ReadOnly", on: false }]);
    t.same(all.logged, ["the store takes no changes: nothing answers", "the store takes changes again"]);
  });

  await t.test("another server has the store: read-only for good", async (t) => {
    const all = setup();
    t.match((await look(all, { kind: "fenced" })).first, {
      core: [{ kind: "Rejected", refusals: 1 }],
      gateway: [{ kind: "ReadOnly", on: true, error: /another Millrace has taken over the store/ }],
      timers: [],
    });
    all.store.connecting = Promise.resolve({ kind: "fenced" });
    t.same(all.receive({ kind: "Look" }), { ...nothing, timers: ["look"] });
    t.match(all.logged, [/the store takes no changes: another Millrace has taken over/]);
  });

  await t.test("a commit waits for the attempt under way", async (t) => {
    const { store, reported, receive } = setup();
    store.connecting = Promise.resolve({ kind: "unreachable", error: "nothing answers" });
    receive({ kind: "Look" });
    t.same(receive(request(1)), nothing);
    t.same(receive({ kind: "Look" }), { ...nothing, timers: ["look"] });
    t.equal(store.asked.length, 0);
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(reported.length, 1, "one attempt at a time");
    const [done] = reported;
    if (done === undefined) throw new Error("the attempt is not reported");
    t.match(receive(done).core, [{ kind: "Acknowledged", number: 1 }]);
    t.equal(store.asked.length, 1);
  });
});

t.test("a commit that no store can take is a defect", async (t) => {
  const { reported, receive } = setup(Promise.reject(new Error("no such operation")));
  receive(request(1));
  await new Promise((resolve) => setImmediate(resolve));
  const [done] = reported;
  if (done === undefined) throw new Error("the failure is not reported");
  t.throws(() => receive(done), /no such operation/);
});
