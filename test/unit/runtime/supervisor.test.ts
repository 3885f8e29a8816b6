import fc from "fast-check";
import t from "tap";
import { BACKOFF_MAX_MS, decideRestart, type RestartType, type Strategy } from "#runtime/restart";
import { type Child, type Control, Supervisor, type SupervisorChild, type WorkerChild, workersOf } from "#runtime/supervisor";

const CHILDREN = ["a", "b", "c"];
const SECOND_US = 1_000_000;

function decide(strategy: Strategy, name: string, restartsUs: number[] = [], restart: RestartType = "permanent", failed = true) {
  const policy = { strategy, intensity: 3, periodMs: 1000 };
  return decideRestart(policy, CHILDREN, { name, restart, failed }, restartsUs, 100 * SECOND_US);
}

t.test("each strategy names the children it restarts", async (t) => {
  t.match(decide("one_for_one", "b"), { kind: "Restart", children: ["b"] });
  t.match(decide("one_for_all", "b"), { kind: "Restart", children: ["a", "b", "c"] });
  t.match(decide("rest_for_one", "b"), { kind: "Restart", children: ["b", "c"] });
});

t.test("temporary children stay down, transient ones unless they failed", async (t) => {
  t.same(decide("one_for_one", "a", [], "temporary"), { kind: "Ignore" });
  t.same(decide("one_for_one", "a", [], "transient", false), { kind: "Ignore" });
  t.match(decide("one_for_one", "a", [], "transient", true), { kind: "Restart" });
  t.match(decide("one_for_one", "a", [], "permanent", false), { kind: "Restart" });
});

t.test("the first restart is immediate, further ones wait longer; too many within the period end it", async (t) => {
  const nowUs = 100 * SECOND_US;
  const recent = (count: number) => Array.from({ length: count }, (_, index) => nowUs - 1 - index);
  const delayOf = (count: number) => {
    const decision = decide("one_for_one", "a", recent(count));
    return decision.kind === "Restart" ? decision.delayMs : decision.kind;
  };
  t.same([0, 1, 2, 3].map(delayOf), [0, 10, 20, "GiveUp"]);
  t.match(decide("one_for_one", "a", [1, 2, 3, 4, 5]), { delayMs: 0, restartsUs: [nowUs] }, "old ones are forgotten");
});

t.test("no more restarts than the intensity fall into any period, and waits stay bounded", async () => {
  const gap = fc.integer({ min: 0, max: 700 });
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 80 }), fc.integer({ min: 1, max: 12 }), (gapsMs, intensity) => {
      const policy = { strategy: "one_for_one" as const, intensity, periodMs: 1000 };
      let restartsUs: number[] = [];
      const all: number[] = [];
      let nowUs = 0;
      for (const gapMs of gapsMs) {
        nowUs += gapMs * 1000;
        const decision = decideRestart(policy, ["a"], { name: "a", restart: "permanent", failed: true }, restartsUs, nowUs);
        const within = all.filter((us) => nowUs - us < SECOND_US).length;
        if (decision.kind === "GiveUp") {
          if (within < intensity) throw new Error("gave up early");
          return;
        }
        if (decision.kind !== "Restart" || within >= intensity) throw new Error("restarted too often");
        if (decision.delayMs > BACKOFF_MAX_MS || (within === 0) !== (decision.delayMs === 0)) throw new Error("wrong wait");
        restartsUs = decision.restartsUs;
        all.push(nowUs);
      }
    }),
  );
});

function worker(name: string, restart: RestartType = "permanent"): WorkerChild {
  return { kind: "worker", name, restart, shutdownMs: 10 };
}

function supervisor(name: string, strategy: Strategy, children: Child[], intensity = 2): SupervisorChild {
  return { kind: "supervisor", name, strategy, intensity, periodMs: 1000, children };
}

/** A control that records its calls and can be made to fail or to wait. */
function setup(root: SupervisorChild) {
  const log: string[] = [];
  const failing = new Map<string, number>();
  const gates = new Map<string, Promise<void>>();
  const gaveUp: string[] = [];
  let nowUs = 0;
  const control: Control = {
    start: async (name) => {
      log.push(`start ${name}`);
      await gates.get(name);
      const failures = failing.get(name) ?? 0;
      if (failures === 0) return;
      failing.set(name, failures - 1);
      throw new Error(`${name} does not start`);
    },
    stop: async (name) => {
      log.push(`stop ${name}`);
    },
    sleep: async (delayMs) => {
      log.push(`sleep ${delayMs}`);
    },
  };
  const clock = { nowUs: () => nowUs, monotonicUs: () => nowUs };
  const restarted: string[][] = [];
  const events = { restarted: (names: string[]) => restarted.push(names), gaveUp: (error: Error) => gaveUp.push(error.message) };
  const tree = new Supervisor(root, control, clock, events);
  const take = () => log.splice(0);
  return { tree, take, failing, gates, gaveUp, restarted, pass: (us: number) => (nowUs += us) };
}

const NESTED = supervisor("root", "one_for_one", [
  supervisor("group", "one_for_all", [worker("a"), worker("b")]),
  supervisor("chain", "rest_for_one", [worker("c"), worker("d"), worker("e")]),
  worker("f"),
]);

t.test("workers start in order and stop in reverse", async (t) => {
  const { tree, take } = setup(NESTED);
  t.same(
    workersOf(NESTED).map(({ name }) => name),
    ["a", "b", "c", "d", "e", "f"],
  );
  await tree.start();
  t.same(
    take(),
    ["a", "b", "c", "d", "e", "f"].map((name) => `start ${name}`),
  );
  await tree.stop();
  t.same(
    take().filter((entry) => entry.startsWith("stop")),
    ["f", "e", "d", "c", "b", "a"].map((name) => `stop ${name}`),
  );
});

t.test("a start that fails stops what had started and is thrown", async (t) => {
  const { tree, take, failing } = setup(NESTED);
  failing.set("c", 1);
  await t.rejects(tree.start(), /c does not start/);
  t.same(take(), ["start a", "start b", "start c", "stop b", "stop a"]);
});

t.test("a thread that ends before the start comes to its workers does not start them twice", async (t) => {
  const { tree, take, gates } = setup(NESTED);
  const gate = Promise.withResolvers<void>();
  gates.set("a", gate.promise);
  const started = tree.start();
  await tree.exited("d", new Error("its thread ended"));
  t.same(take(), ["start a"]);
  gate.resolve();
  await started;
  t.same(take(), ["start b", "start c", "start d", "start e", "start f"]);
});

t.test("each strategy stops in reverse and starts in order", async (t) => {
  const { tree, take, restarted } = setup(NESTED);
  await tree.start();
  take();
  await tree.exited("f", new Error("x"));
  t.same(take(), ["stop f", "start f"]);
  await tree.exited("a", new Error("x"));
  t.same(take(), ["stop b", "stop a", "start a", "start b"]);
  await tree.exited("d", new Error("x"));
  t.same(take(), ["stop e", "stop d", "start d", "start e"]);
  t.same(restarted, [["f"], ["a", "b"], ["d", "e"]]);
});

t.test("an exit of a former life is ignored", async (t) => {
  const { tree, take } = setup(NESTED);
  await tree.start();
  take();
  await Promise.all([tree.exited("a", new Error("1")), tree.exited("b", new Error("2")), tree.exited("a", new Error("3"))]);
  t.same(take(), ["stop b", "stop a", "start a", "start b"], "one thread that ends takes two actors: one restart");
});

t.test("too many exits go to the supervisor above, at the root they end it", async (t) => {
  const { tree, take, gaveUp } = setup(NESTED);
  await tree.start();
  take();
  const fail = async () => {
    await tree.exited("c", new Error("again"));
    return take();
  };
  const chain = ["stop e", "stop d", "stop c", "start c", "start d", "start e"];
  t.same(await fail(), chain);
  t.same((await fail()).slice(3), ["sleep 10", ...chain.slice(3)]);
  t.same(await fail(), chain, "the third one restarts the group as a whole");
  t.same(await fail(), chain, "which then counts from zero");
  await fail();
  t.same((await fail()).slice(3), ["sleep 10", ...chain.slice(3)], "the second time above");
  for (let index = 0; index < 3; index += 1) await fail();
  t.same(gaveUp, ["again"]);
});

t.test("after the period the count starts from zero", async (t) => {
  const { tree, gaveUp, pass } = setup(NESTED);
  await tree.start();
  for (let index = 0; index < 20; index += 1) {
    await tree.exited("f", new Error("x"));
    pass(SECOND_US / 2);
  }
  t.same(gaveUp, []);
});

t.test("exits that do not count never end it", async (t) => {
  const { tree, gaveUp, restarted } = setup(NESTED);
  await tree.start();
  for (let index = 0; index < 50; index += 1) await tree.exited("a", new Error("disk full"), false);
  t.same(gaveUp, []);
  t.equal(restarted.length, 50);
});

t.test("a restart that fails counts and is tried again", async (t) => {
  const { tree, take, failing, gaveUp } = setup(NESTED);
  await tree.start();
  take();
  failing.set("f", 1);
  await tree.exited("f", new Error("x"));
  t.same(take(), ["stop f", "start f", "stop f", "sleep 10", "start f"]);
  t.same(gaveUp, []);
  failing.set("f", 99);
  await tree.exited("f", new Error("x"));
  t.same(gaveUp, ["x"]);
});

t.test("a group that waits in its start does not keep another one from restarting", async (t) => {
  const { tree, take, gates } = setup(NESTED);
  await tree.start();
  take();
  const gate = Promise.withResolvers<void>();
  gates.set("a", gate.promise);
  const waiting = tree.exited("a", new Error("x"));
  await tree.exited("c", new Error("x"));
  t.ok(take().includes("start e"));
  gate.resolve();
  await waiting;
  t.same(take(), ["start b"]);
});

t.test("two groups that gave up at once are restarted independently: one of them may need the other to start", async (t) => {
  const { tree, take, gates, gaveUp } = setup({ ...NESTED, intensity: 5 });
  await tree.start();
  for (const name of ["a", "c", "a", "c"]) await tree.exited(name, new Error("x"));
  take();
  const other = Promise.withResolvers<void>();
  gates.set("a", other.promise);
  const waiting = tree.exited("a", new Error("gives up"));
  await tree.exited("c", new Error("gives up"));
  t.ok(take().includes("start e"));
  other.resolve();
  await waiting;
  t.same([take(), gaveUp], [["start b"], []]);
});

t.test("after a stop exits are expected; a restart that never ends does not hold it up", async (t) => {
  const { tree, take, gates } = setup(NESTED);
  await tree.start();
  gates.set("a", new Promise(() => undefined));
  void tree.exited("b", new Error("x"));
  await tree.stop();
  t.equal(take().at(-1), "stop a");
  await tree.exited("f", new Error("x"));
  t.same(take(), []);
});

t.test("temporary and unknown", async (t) => {
  const { tree, take, gaveUp } = setup(supervisor("root", "one_for_all", [worker("once", "temporary"), worker("b")]));
  await tree.start();
  take();
  await tree.exited("once", new Error("x"));
  t.same(take(), []);
  await tree.exited("stranger", new Error("who"));
  t.same(gaveUp, ["who"]);
});

t.test("starts that fail while an upper supervisor restarts the group are escalated again, until they succeed", async (t) => {
  const group = supervisor("group", "one_for_all", [worker("a"), worker("b")]);
  const { tree, failing, gaveUp, restarted } = setup(
    supervisor("root", "one_for_one", [supervisor("data", "one_for_one", [group], 5)]),
  );
  await tree.start();
  // Two restarts within the group, then two after each of two restarts of the group.
  failing.set("a", 8);
  await tree.exited("a", new Error("lost"));
  t.same(gaveUp, []);
  t.same(restarted, [["a", "b"]]);
  failing.set("a", 100);
  await tree.exited("a", new Error("lost for ever"));
  t.equal(gaveUp.length, 1, "at last the root gives up");
});
