/** Runs begin as long as the thread of user code returns to its event loop, and go back while it does not. */
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { BLOCKED_MS, HELD_MS, StartGate } from "#sdk/engine/start-gate";

/** A gate to a thread that answers at once, unless it is held. */
function setUp(most = 8) {
  let release: (() => void) | null = null;
  let held: Promise<void> | null = null;
  let endedMs = Number.NEGATIVE_INFINITY;
  const waiting = new Set<() => void>();
  const gate = new StartGate({
    most,
    turn: () => held ?? Promise.resolve(),
    endedMs: () => endedMs,
    changed: () => {
      for (const wake of waiting) wake();
      waiting.clear();
    },
  });
  return {
    gate,
    hold() {
      held = new Promise((resolve) => {
        release = resolve;
      });
    },
    release() {
      held = null;
      release?.();
    },
    ended() {
      endedMs = performance.now();
    },
    async until(condition: () => boolean) {
      while (!condition()) await new Promise<void>((resolve) => waiting.add(resolve));
    },
  };
}

/** Lets runs enter, and collects those that are let in and those that go back. */
function enterAll(gate: StartGate, runs: readonly number[], flow = "f") {
  const begun: number[] = [];
  const back: number[] = [];
  const done = Promise.all(runs.map(async (run) => void ((await gate.enter(run, flow)) ? begun : back).push(run)));
  return { begun, back, done };
}

const settled = (): Promise<void> => sleep(10);

t.test("a flow begins with one run, and gets one more at once for each that ended without holding the thread", async (t) => {
  const { gate } = setUp();
  const { begun } = enterAll(gate, [1, 2, 3, 4, 5, 6, 7]);
  await settled();
  t.same(begun, [1]);
  gate.leave(1);
  await settled();
  t.same(begun, [1, 2, 3]);
  gate.leave(2);
  gate.leave(3);
  await settled();
  t.same(begun, [1, 2, 3, 4, 5, 6, 7]);
});

t.test("a run that has been in the thread for a while without holding it counts as one that waits", async (t) => {
  const { gate } = setUp();
  const { begun, done } = enterAll(gate, [1, 2, 3]);
  await settled();
  gate.called(1);
  await done;
  t.same(begun, [1, 2, 3], "although the first has not ended");
  t.equal(gate.inside, 3);
});

t.test("flows do not wait for each other", async (t) => {
  const { gate } = setUp();
  t.equal(await gate.enter(1, "one"), true);
  t.equal(await gate.enter(2, "two"), true);
});

t.test(
  "while the thread is held, runs that have not begun go back, also later ones, and flows begin with one run again",
  async (t) => {
    const { gate, hold, release, until } = setUp();
    for (const run of [1, 2, 3]) {
      await gate.enter(run, "f");
      gate.leave(run);
    }
    const first = enterAll(gate, [4, 5, 6, 7, 8]);
    await settled();
    t.same(first.begun, [4, 5, 6, 7]);
    hold();
    for (const run of first.begun) gate.called(run);
    await first.done;
    t.same(first.back, [8]);
    t.equal(gate.isHeld, true);
    t.equal(await gate.enter(9, "other"), false);
    t.equal(gate.blockedMs, null);
    await until(() => gate.blockedMs !== null);
    t.ok(Number(gate.blockedMs) >= BLOCKED_MS - HELD_MS, String(gate.blockedMs));
    release();
    await until(() => !gate.isHeld);
    t.equal(gate.blockedMs, null);
    for (const run of [4, 5, 6, 7]) gate.leave(run);
    const next = enterAll(gate, [10, 11, 12]);
    await settled();
    t.same(next.begun, [10]);
  },
);

t.test("a thread in which runs end is not held, however long its event loop takes", async (t) => {
  const { gate, hold, release, ended } = setUp();
  await gate.enter(1, "f");
  const second = enterAll(gate, [2]);
  await settled();
  hold();
  gate.called(1);
  for (let passed = 0; passed < 3 * HELD_MS; passed += 20) {
    ended();
    await sleep(20);
  }
  t.equal(gate.isHeld, false);
  t.same(second.back, []);
  release();
  await second.done;
  t.same(second.begun, [2]);
});
