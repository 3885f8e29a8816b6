import t from "tap";
import type { NewWait, Wait, WaitOutcome } from "#protocol/records/durable";
import { OpenWaits } from "#sdk/durable/open-waits";
import { OutcomeOrder } from "#sdk/durable/outcome-order";
import { FakeClock } from "#sdk/testing/index";

/** Waits at a server that refuses `refused` and settles by `settled`. */
function setUp({ refused = "", parkAfterSecs = 5, unread = null as Promise<never> | null } = {}) {
  const clock = new FakeClock();
  const server = new Map<string, Wait>();
  const requests: string[] = [];
  const services = {
    steps: async () => [],
    address: async () => "http://127.0.0.1",
    step: async () => Promise.reject(new Error("none")),
    waits: async (after: number) => {
      requests.push(`after ${after}`);
      if (unread !== null) return await unread;
      return [...server.values()].filter(({ id }) => id > after);
    },
    arm: async (waits: NewWait[]) => {
      requests.push(waits.map(({ identity }) => identity).join());
      if (waits.some(({ identity }) => identity === refused)) throw new Error("404 flow not found");
      for (const { identity, place, kind, name, ...rest } of waits) {
        const delay = "delay" in rest ? rest.delay : undefined;
        const due = delay === undefined ? null : clock.nowUs() + delay * 1_000_000;
        const wait = { id: server.size + 10, identity, place, kind, name, created_at: 1, due };
        server.set(identity, {
          ...wait,
          ...{ event: null, where: null, child_run_id: null, url: null, settled_at: null, outcome: null },
        });
      }
      return waits.map(({ identity }) => server.get(identity) as Wait);
    },
  };
  let changes = 0;
  const ended: string[] = [];
  const over = ({ identity }: Wait) => ended.push(identity);
  const waits = new OpenWaits({
    services,
    clock,
    parkAfterSecs,
    order: new OutcomeOrder(),
    changed: () => (changes += 1),
    over,
    stepsTold: async () => undefined,
  });
  const settle = (identity: string, outcome: WaitOutcome) =>
    Object.assign(server.get(identity) ?? {}, { outcome, settled_at: 2 });
  return { waits, clock, requests, settle, changes: () => changes, ended };
}

const sleepOf = (identity: string, delay: number): NewWait => ({ kind: "sleep", identity, place: "p", name: "sleep", delay });
const eventOf = (identity: string): NewWait => ({ kind: "event", identity, place: "p", name: "event", event: "e" });

t.test("waits of one turn are armed by one request, and each once", async (t) => {
  const { waits, requests } = setUp();
  const armed = await Promise.all(["a", "b", "a"].map((identity) => waits.arm(sleepOf(identity, 60))));
  t.same(
    armed.map(({ identity }) => identity),
    ["a", "b", "a"],
  );
  await waits.arm(sleepOf("b", 60));
  t.same(requests, ["a,b"]);
});

t.test("one wait that the server refuses does not fail the others", async (t) => {
  const { waits } = setUp({ refused: "b" });
  const armed = await Promise.allSettled(["a", "b", "c"].map((identity) => waits.arm(sleepOf(identity, 60))));
  t.same(
    armed.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
});

t.test("the run may leave when every wait that the flow waits for is armed and long", async (t) => {
  const { waits } = setUp();
  t.notOk(waits.areLong, "no wait");
  const long = await waits.arm(eventOf("long"));
  t.notOk(waits.areLong, "the flow does not wait for it yet");
  void waits.outcome(long, false);
  t.ok(waits.areLong);
  const arming = waits.arm(sleepOf("short", 2));
  t.notOk(waits.areLong, "one is on its way");
  void waits.outcome(await arming, true);
  t.notOk(waits.areLong, "one is short");
  t.same(waits.open, ["long", "short"]);
  t.ok(waits.holds);
});

t.test("a run that stays looks at its waits, from the oldest open one on, less and less often", async (t) => {
  const { waits, clock, requests, settle } = setUp();
  const outcome = waits.outcome(await waits.arm(eventOf("a")), false);
  const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
  clock.advance(260);
  await turn();
  clock.advance(260);
  await turn();
  t.same(requests, ["a", "after 9"]);
  settle("a", { kind: "timed_out" });
  clock.advance(260);
  t.same(await outcome, { kind: "timed_out" });
  t.same(requests, ["a", "after 9", "after 9"]);
  t.same(waits.open, []);
});

t.test("a stop fails the open waits, also those that are not armed yet", async (t) => {
  const { waits } = setUp();
  const open = waits.outcome(await waits.arm(eventOf("a")), false);
  const arming = waits.arm(eventOf("b"));
  waits.fail(new Error("cancelled"));
  await t.rejects(open, { message: "cancelled" });
  await t.rejects(arming, { message: "cancelled" });
});

t.test("waits that cannot be read fail where the flow waits for them", async (t) => {
  const { promise: unread, reject } = Promise.withResolvers<never>();
  const { waits, clock } = setUp({ unread });
  const outcome = waits.outcome(await waits.arm(eventOf("a")), false);
  clock.advance(260);
  reject(new Error("404 run not found"));
  await t.rejects(outcome, { message: "404 run not found" });
  t.same(waits.open, []);
});

t.test("a read that ends with the attempt fails nothing", async (t) => {
  const { promise: unread, reject } = Promise.withResolvers<never>();
  const { waits, clock, requests } = setUp({ unread });
  let isOver = false;
  const outcome = waits.outcome(await waits.arm(eventOf("a")), false);
  outcome.finally(() => (isOver = true)).catch(() => undefined);
  clock.advance(260);
  t.same(requests, ["a", "after 9"]);
  waits.close();
  reject(new Error("the run waits outside its engine"));
  await new Promise((resolve) => setImmediate(resolve));
  t.notOk(isOver, "code must not notice that its run leaves");
});
