import t from "tap";
import type { NewWait, Step, Wait, WaitOutcome } from "#protocol/records/durable";
import { DurableRun } from "#sdk/durable/durable-run";
import { OutcomeOrder, type StoredAt } from "#sdk/durable/outcome-order";
import type { ReportItem } from "#sdk/execution/report-item";
import { FakeClock } from "#sdk/testing/index";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

t.test("outcomes arrive as they were stored, among those asked for together and what they lead to", async (t) => {
  const order = new OutcomeOrder();
  const seen: string[] = [];
  const ask = async (name: string, stored: StoredAt, ready = Promise.resolve(name)) => seen.push(await order.turn(stored, ready));
  const step = (atUs: number, id = 1): StoredAt => ({ atUs, kind: "step", id });
  const slow = new Promise<string>((resolve) => setTimeout(() => resolve("slow"), 20));
  await Promise.all([
    ask("step 2 of 4", step(4, 2)),
    ask("step 1 of 4", step(4, 1)),
    ask("wait of 4", { atUs: 4, kind: "wait", id: 9 }),
    ask("slow", step(1), slow),
    ask("2", step(2)).then(() => ask("3", step(3))),
    ask("2, asked for later", step(2)),
  ]);
  t.same(seen, ["slow", "2", "2, asked for later", "3", "wait of 4", "step 1 of 4", "step 2 of 4"]);
});

t.test("nothing arrives while work is under way that leads to earlier outcomes", async (t) => {
  const order = new OutcomeOrder();
  const seen: string[] = [];
  const ask = async (name: string, atUs: number) =>
    seen.push(await order.turn({ atUs, kind: "wait", id: 1 }, Promise.resolve(name)));
  const { promise, resolve } = Promise.withResolvers<void>();
  const later = ask("later", 2);
  const work = order.during(() => promise).then(() => ask("earlier", 1));
  await new Promise((turn) => setTimeout(turn, 5));
  t.same(seen, []);
  resolve();
  await Promise.all([later, work]);
  t.same(seen, ["earlier", "later"]);
  await order.during(() => Promise.reject(new Error("refused"))).catch(() => undefined);
  await ask("after a failure", 3);
  t.notOk(order.isIdle, "the flow may ask for more");
  await new Promise((turn) => setTimeout(turn, 5));
  t.ok(order.isIdle);
});

/** What a test waits for at the server. */
function serverSignals() {
  const reading = Promise.withResolvers<void>();
  const armings = new Map<string, PromiseWithResolvers<void>>();
  const arming = (identity: string): PromiseWithResolvers<void> => {
    const known = armings.get(identity) ?? Promise.withResolvers<void>();
    armings.set(identity, known);
    return known;
  };
  /** Resolves when the engine and the flow have the answers to the arming of these waits. */
  const armed = async (...identities: string[]): Promise<void> => {
    await Promise.all(identities.map((identity) => arming(identity).promise));
    await nextTurn();
  };
  /** Resolves when the waits have been read for the first time, and what follows from that has happened. */
  const read = async (): Promise<void> => {
    await reading.promise;
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  };
  return { arming, reading, armed, read };
}

/** A server that stores steps and settles waits at the times given. */
function fakeServer() {
  const steps = new Map<string, Step>();
  const waits = new Map<string, Wait>();
  /** When what a wait waits for came, if that was before the wait. */
  const came = new Map<string, number>();
  /** Waits that are settled before the answer to their arming arrives. */
  const comes = new Map<string, number>();
  const reads = { count: 0 };
  const requests: string[] = [];
  const { arming, reading, ...signals } = serverSignals();
  const services = {
    steps: async () => [...steps.values()],
    step: async (identity: string) => {
      const step = steps.get(identity);
      if (step === undefined) throw new Error("404");
      return step;
    },
    waits: async (after: number) => {
      reads.count += 1;
      reading.resolve();
      return [...waits.values()].filter(({ id }) => id > after).map((wait) => ({ ...wait, url: null }));
    },
    address: async () => "http://127.0.0.1",
    arm: async (armed: NewWait[]) => {
      requests.push(armed.map(({ identity }) => identity).join());
      await new Promise((resolve) => setTimeout(resolve, 5));
      return armed.map(({ identity, place, kind, name }) => {
        const about = { id: waits.size + 1, identity, place, kind, name, created_at: 1, due: null };
        const none = { event: null, where: null, child_run_id: null, url: null };
        const settled_at = came.get(identity) ?? null;
        const outcome: WaitOutcome | null = settled_at === null ? null : { kind: "timed_out" };
        const wait = waits.get(identity) ?? { ...about, ...none, settled_at, outcome };
        waits.set(identity, wait);
        if (comes.has(identity)) settle(identity, comes.get(identity) ?? 0);
        arming(identity).resolve();
        return { ...wait, url: kind === "callback" ? "/api/callbacks/1" : null };
      });
    },
  };
  /** The server stores a step; the engine is not told. */
  const store = (identity: string, atUs: number): void => {
    const about = { place: "p", name: identity, run_id: 1, task_run_external_id: null, bytes: 1 };
    steps.set(identity, { ...about, id: steps.size + 1, identity, created_at: atUs, value: "1", file: null });
  };
  const settle = (identity: string, atUs: number): void => {
    const wait = waits.get(identity);
    if (wait === undefined) throw new Error(`${identity} is not armed`);
    waits.set(identity, { ...wait, settled_at: atUs, outcome: { kind: "timed_out" } });
  };
  return {
    services,
    came,
    comes,
    reads,
    requests,
    store,
    settle,
    ...signals,
    counts: () => ({ steps: steps.size, waits: waits.size }),
  };
}

/** A run of such a server, and its flow. */
function setUp({ attempt = 1 } = {}) {
  const clock = new FakeClock();
  const seen: string[] = [];
  const { services, counts, ...server } = fakeServer();
  const begin = () => {
    const durable = new DurableRun({
      facts: { lineageId: 1, ...counts(), parkAfterSecs: 5, lease: 1 },
      ...{ services, clock, controller: new AbortController(), home: "/none", runId: 1, attempt },
      report: (_item: ReportItem) => undefined,
      ...{ warn: () => undefined, waited: () => undefined, abort: () => undefined },
    });
    // Keeps the run in its engine.
    durable.enter();
    return durable;
  };
  return {
    ...server,
    clock,
    seen,
    begin,
    /** A wait of the flow. */
    async await(durable: DurableRun, identity: string, kind: "event" | "callback" = "event"): Promise<void> {
      const about = { identity, place: "p", name: identity };
      const wait: NewWait = kind === "event" ? { ...about, kind, event: "e" } : { ...about, kind };
      await durable.outcome(await durable.arm(wait));
      seen.push(identity);
    },
    /** A step of the flow, called now. */
    async step(durable: DurableRun, identity: string): Promise<void> {
      const call = { identity, place: "p", name: identity, onChange: "run" as const };
      if ((await durable.steps.find(call)) === null) await durable.steps.commit(call, null, { value: "1" });
      seen.push(identity);
    },
  };
}

t.test("what was settled before a step was stored arrives before the step", async (t) => {
  const { begin, seen, store, settle, armed, ...flow } = setUp();
  const durable = begin();
  const calls = [flow.await(durable, "later"), flow.await(durable, "earlier"), flow.step(durable, "step")];
  await armed("later", "earlier");
  settle("earlier", 10);
  store("step", 20);
  settle("later", 30);
  durable.settled({ identities: ["step"], error: null });
  await Promise.all(calls);
  t.same(seen, ["earlier", "step", "later"]);
});

t.test("a step that was stored before an event arrives before the event, although its commit is told after it", async (t) => {
  const { begin, seen, settle, clock, armed, read, ...flow } = setUp();
  const durable = begin();
  const calls = [flow.await(durable, "event"), flow.step(durable, "step"), flow.step(durable, "later step")];
  await armed("event");
  settle("event", 20);
  clock.advance(260);
  await read();
  t.same(seen, [], "the event waits for what was reported");
  durable.settled({ identities: ["step"], error: null, appliedAt: 10, settledWait: 0 });
  durable.settled({ identities: ["later step"], error: null, appliedAt: 30, settledWait: 1 });
  await Promise.all(calls);
  t.same(seen, ["step", "event", "later step"]);
});

t.test("an event arrives although a reported step cannot be stored", async (t) => {
  const { begin, seen, settle, clock, armed, ...flow } = setUp();
  const durable = begin();
  const event = flow.await(durable, "event");
  const step = flow.step(durable, "step");
  await armed("event");
  settle("event", 20);
  clock.advance(260);
  durable.settled({ identities: ["step"], error: "it is too large" });
  await t.rejects(step, { message: /too large/ });
  await event;
  t.same(seen, ["event"]);
});

t.test("steps of one report end in its order, before those that were stored later", async (t) => {
  const { begin, seen, ...flow } = setUp();
  const durable = begin();
  const calls = ["a", "b", "c"].map((identity) => flow.step(durable, identity));
  await nextTurn();
  durable.settled({ identities: ["c", "a"], error: null, appliedAt: 1, settledWait: 0 });
  await nextTurn();
  t.same(seen, ["c"]);
  durable.settled({ identities: ["b"], error: null, appliedAt: 2, settledWait: 0 });
  await Promise.all(calls);
  t.same(seen, ["c", "a", "b"]);
});

t.test("waits are read before a step only if one has been settled since they were read", async (t) => {
  const { begin, seen, reads, settle, armed, ...flow } = setUp();
  const durable = begin();
  const tell = async (identity: string, settledWait: number) => {
    const call = flow.step(durable, identity);
    await nextTurn();
    durable.settled({ identities: [identity], error: null, appliedAt: settledWait + 1, settledWait });
    await call;
  };
  const calls = [flow.await(durable, "a"), flow.await(durable, "b")];
  await armed("a", "b");
  await tell("first", 0);
  t.equal(reads.count, 0);
  settle("a", 1);
  await tell("second", 1);
  await tell("third", 1);
  t.equal(reads.count, 1);
  settle("b", 2);
  await tell("fourth", 2);
  await Promise.all(calls);
  t.equal(reads.count, 2);
  t.same(seen, ["first", "a", "second", "third", "b", "fourth"]);
});

t.test("a wait that was settled before the flow asked for its outcome arrives before a step that was stored later", async (t) => {
  const { begin, seen, settle, armed, ...flow } = setUp();
  const durable = begin();
  const about = { place: "p", kind: "event", event: "e" } as const;
  const early = await durable.arm({ ...about, identity: "early", name: "early" });
  const open = flow.await(durable, "open");
  await armed("open");
  settle("early", 10);
  const first = flow.step(durable, "first");
  await nextTurn();
  durable.settled({ identities: ["first"], error: null, appliedAt: 20, settledWait: early.id });
  await first;
  const asked = durable.outcome(early).then(() => seen.push("early"));
  const second = flow.step(durable, "second");
  await nextTurn();
  durable.settled({ identities: ["second"], error: null, appliedAt: 30, settledWait: early.id });
  await Promise.all([asked, second]);
  t.same(seen, ["first", "early", "second"]);
  settle("open", 40);
  durable.settled({ identities: [], error: null, settledWait: 2 });
  await open;
});

t.test("a wait that settles while it is armed is read, although the flow has not asked for its outcome yet", async (t) => {
  const { begin, seen, comes, ...flow } = setUp();
  const durable = begin();
  comes.set("event", 10);
  const step = flow.step(durable, "step");
  const event = flow.await(durable, "event");
  await nextTurn();
  durable.settled({ identities: ["step"], error: null, appliedAt: 20, settledWait: 1 });
  await Promise.all([step, event]);
  t.same(seen, ["event", "step"]);
});

t.test("waits that are found at once arrive by the time they were settled", async (t) => {
  const { begin, seen, settle, clock, armed, ...flow } = setUp();
  const durable = begin();
  const calls = [flow.await(durable, "first"), flow.await(durable, "second")];
  await armed("first", "second");
  settle("second", 10);
  settle("first", 20);
  clock.advance(260);
  await Promise.all(calls);
  t.same(seen, ["second", "first"]);
});

t.test("the waits that follow steps which were stored at once are armed by one request", async (t) => {
  const { begin, requests, ...flow } = setUp();
  const durable = begin();
  const branches = ["a", "b", "c"].map(async (name) => {
    await flow.step(durable, name);
    await durable.arm({ identity: `after ${name}`, place: "p", name, kind: "event", event: "e" });
  });
  await nextTurn();
  durable.settled({ identities: ["a", "b", "c"], error: null, appliedAt: 1, settledWait: 0 });
  await Promise.all(branches);
  t.same(requests, ["after a,after b,after c"]);
});

t.test("a wait that is settled as it is armed comes after what was settled earlier", async (t) => {
  const { begin, seen, came, settle, armed, ...flow } = setUp();
  const durable = begin();
  const open = flow.await(durable, "open");
  await armed("open");
  settle("open", 10);
  came.set("at once", 20);
  await Promise.all([open, flow.await(durable, "at once")]);
  t.same(seen, ["open", "at once"]);
});

t.test("a flow that begins again has a callback before the event that came after it", async (t) => {
  const { begin, seen, store, settle, armed, ...flow } = setUp({ attempt: 2 });
  const execute = (durable: DurableRun) => [
    flow.await(durable, "event"),
    (async () => {
      const about = { place: "p", name: "callback" };
      const wait = await durable.arm({ ...about, identity: "callback", kind: "callback" });
      await flow.step(durable, "send");
      await durable.outcome(wait);
      seen.push("callback");
    })(),
  ];
  execute(begin());
  await armed("event", "callback");
  store("send", 10);
  settle("callback", 20);
  settle("event", 30);
  const durable = begin();
  await durable.load();
  await Promise.all(execute(durable));
  t.same(seen, ["send", "callback", "event"]);
});
