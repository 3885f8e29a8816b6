/** Waits of durable flows, in simulated time and without a server. */
import t from "tap";
import {
  ChildFailed,
  callback,
  child,
  childMap,
  flow,
  run,
  sleep,
  sleepUntil,
  step,
  Type,
  task,
  WaitTimeout,
  waitForEvent,
  waitForInput,
} from "#sdk/index";
import { FakeClock, runFlow } from "#sdk/testing/index";

const names = (states: { name: string }[]) => states.map(({ name }) => name);
const AGAIN = ["Resuming", "Pending", "Running"];
const HOUR_US = 3_600_000_000;

t.test("a run that sleeps leaves its engine, and goes on after the time", async (t) => {
  const clock = new FakeClock();
  const startUs = clock.nowUs();
  const nap = flow("nap", { durable: true }, async () => {
    await sleep("3d");
    await sleepUntil(new Date(startUs / 1000 + 96 * 3_600_000));
    await sleepUntil(new Date(0));
    return "awake";
  });
  const recording = await runFlow(nap, {}, { clock });
  t.equal(recording.result, "awake");
  const here = ["Scheduled", "Pending", "Running", "Sleeping", ...AGAIN, "Sleeping", ...AGAIN, "Completed"];
  t.same(names(recording.states), here);
  t.ok(clock.nowUs() - startUs >= 96 * HOUR_US);
  t.ok(clock.nowUs() - startUs < 97 * HOUR_US);
});

t.test("several waits are open at once; those that have not settled stay", async (t) => {
  const recording = await runFlow(
    flow("several", { durable: true }, async () => {
      const late = sleep("2h").then(() => "late");
      const first = await Promise.race([late, sleep("1h").then(() => "early")]);
      return [first, await late];
    }),
  );
  t.same(recording.result, ["early", "late"]);
  t.equal(names(recording.states).filter((name) => name === "Sleeping").length, 2);
});

t.test("a run stays in its engine while a task is under way", async (t) => {
  const clock = new FakeClock();
  const slow = task("slow", async () => {
    await new Promise((resolve) => setTimeout(resolve, 60));
    return "done";
  });
  const recording = await runFlow(
    flow("beside", { durable: true }, async () => await Promise.all([slow(), sleep("1h")])),
    {},
    { clock },
  );
  t.same(recording.result, ["done", null]);
  t.same(
    recording.taskRuns.map(({ states }) => names(states)),
    [["Pending", "Running", "Completed"]],
  );
});

t.test("code of the flow never notices that the run has left its engine", async (t) => {
  const seen: string[] = [];
  const recording = await runFlow(
    flow("unaware", { durable: true }, async () => {
      try {
        await sleep("1h");
        seen.push("slept");
      } catch {
        seen.push("caught");
        await step("never", () => seen.push("step"));
      } finally {
        seen.push("finally");
      }
      return "end";
    }),
  );
  t.equal(recording.result, "end");
  t.same(seen, ["slept", "finally"]);
});

t.test("code that goes on after the run has left calls no step and starts no wait", async (t) => {
  const seen: string[] = [];
  const mark = task("mark", (text: string) => seen.push(text));
  const goOn = Promise.withResolvers<void>();
  let calls = 0;
  const recording = await runFlow(
    flow("goes on", { durable: true }, async () => {
      calls += 1;
      const first = calls === 1;
      const beside = (async () => {
        if (!first) return;
        await goOn.promise;
        seen.push("left behind");
        await mark("step");
        seen.push("after the step");
      })();
      await sleep("1h");
      goOn.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      await beside;
      return seen.length;
    }),
  );
  t.equal(recording.state.name, "Completed");
  t.same(seen, ["left behind"]);
});

t.test("an event settles a wait by its name and fields; a wait that none settles ends with its timeout", async (t) => {
  const order = flow("order", { durable: true }, async () => {
    const paid = await waitForEvent("paid", { where: { "payload.order": 7 }, timeout: "3d" });
    const shipped = await waitForEvent("shipped", { timeout: "1h" }).catch((error: unknown) => error);
    t.ok(shipped instanceof WaitTimeout);
    t.match(shipped, { waitedFor: 'event "shipped"', seconds: 3600, message: 'event "shipped" did not come within 3600 s' });
    return paid.payload;
  });
  const events = [
    { name: "paid", payload: { order: 8 } },
    { name: "paid", payload: { order: 7, by: "card" }, after: 60 },
  ];
  const recording = await runFlow(order, {}, { events });
  t.same(recording.result, { order: 7, by: "card" });
  t.equal(names(recording.states).filter((name) => name === "AwaitingEvent").length, 2);
  const waiting = await runFlow(flow("for ever", { durable: true }, () => waitForEvent("none")));
  t.match(waiting.state, { type: "Scheduled", name: "AwaitingEvent" });
});

t.test("a callback has one URL over the whole run and takes one answer", async (t) => {
  const urls = new Set<string>();
  const approve = flow("approve", { durable: true }, async () => {
    const answer = await callback<{ ok: boolean }>({ timeout: "1d" });
    urls.add(answer.url);
    await step("send", () => undefined);
    return await answer.result();
  });
  t.same((await runFlow(approve, {}, { callbacks: [{ ok: true }] })).result, { ok: true });
  t.equal(urls.size, 1);
  t.match([...urls][0], /^http:\/\/127\.0\.0\.1:4270\/api\/callbacks\/[\w-]{20,}$/);
  t.match((await runFlow(approve)).state, { name: "Failed", message: "WaitTimeout: the callback did not come within 86400 s" });
});

t.test("an answer resumes a durable flow where it was; questions have a timeout and a default", async (t) => {
  const calls: string[] = [];
  const ask = flow("ask", { durable: true }, async () => {
    await step("before", () => calls.push("before"));
    const sure = await waitForInput("Sure?", Type.Integer());
    const note = await waitForInput("Note?", undefined, { key: "note", timeout: "1h", default: "none" });
    return { sure, note };
  });
  const recording = await runFlow(ask, {}, { answers: ["no", "3"] });
  t.same(recording.result, { sure: 3, note: "none" });
  t.same(calls, ["before"]);
  t.match(recording.messages, [/^"Sure\?" is asked again/]);
  t.match(recording.states.find(({ name }) => name === "Paused")?.details, { prompt: "Sure?", answer_checked: true });
  const late = await runFlow(flow("late", { durable: true }, () => waitForInput("?", undefined, { timeout: 60 })));
  t.match(late.state, { name: "Failed", message: /^WaitTimeout: the answer to "\?" did not come within 60 s/ });
});

const double = flow("double", { durable: true, parameters: Type.Object({ n: Type.Integer() }) }, async ({ n }) => {
  await sleep("1m");
  if (n === 13) throw new Error("unlucky");
  return n * 2;
});

t.test("children are runs whose results come back; the same child is started once", async (t) => {
  const recording = await runFlow(
    flow("parent", { durable: true }, async () => {
      const started = await child(double, { n: 1 }, { key: "one" }).start();
      const same = await child(double, { n: 1 }, { key: "one" }).start();
      t.equal(started.id, same.id);
      return [
        await started.result(),
        await child(double, { n: 4 }).run(),
        ...(await childMap(double, [{ n: 5 }, { n: 6 }], { concurrency: 1 })),
      ];
    }),
  );
  t.same(recording.result, [2, 8, 10, 12]);
  t.equal(recording.children.length, 4);
  t.ok(names(recording.states).includes("AwaitingChild"));
});

t.test("a child that does not complete fails its parent with how it ended", async (t) => {
  const parent = flow("parent", { durable: true }, async () => {
    const error = await child(double, { n: 13 })
      .run()
      .catch((thrown: unknown) => thrown);
    t.ok(error instanceof ChildFailed);
    return { ...(error as ChildFailed) };
  });
  const recording = await runFlow(parent);
  t.match(recording.result, { state: "Failed", stateMessage: "Error: unlucky" });
  t.same(
    (
      await runFlow(
        flow("given", { durable: true }, () => child(double, { n: 3 }).run()),
        {},
        { children: { double: (of: { n: number }) => of.n } },
      )
    ).result,
    3,
  );
  const wrong = flow("wrong", { durable: true }, () => child(double, { n: "x" as unknown as number }).run());
  t.match((await runFlow(wrong)).state, { name: "Failed", message: /^ParameterError/ });
});

t.test("given steps are not called", async (t) => {
  const recording = await runFlow(
    flow("given", { durable: true }, () => step("ask a model", () => t.fail("called"))),
    {},
    { steps: { "ask a model": "yes" } },
  );
  t.equal(recording.result, "yes");
  t.equal(recording.taskRun("ask a model-0").state.name, "Cached");
});

t.test("waits need a durable flow, and its function", async (t) => {
  const failing = async (fn: () => unknown, durable: boolean) => {
    const recording = await runFlow(flow("fails", { ...(durable ? { durable } : {}) }, fn));
    return recording.state.message;
  };
  t.match(
    await failing(() => sleep("10s"), false),
    /^Error: sleep\("10s"\) needs a durable flow: give flow "fails" the option durable: true/,
  );
  for (const [fn, what] of [
    [() => waitForEvent("e"), /waitForEvent\("e"\) needs a durable flow/],
    [() => callback(), /callback\(\) needs a durable flow/],
    [() => child(double, { n: 1 }).run(), /child\("double"\) needs a durable flow/],
    [() => waitForInput("?", undefined, { timeout: 5 }), /option timeout of waitForInput\(\) needs a durable flow/],
  ] as const)
    t.match(await failing(fn, false), what);
  t.match(
    await failing(
      task("inside", () => sleep("10s")),
      true,
    ),
    /sleep\("10s"\) inside task "inside" would keep its engine/,
  );
  t.match(
    await failing(
      task("inside", () => waitForEvent("e")),
      true,
    ),
    /waitForEvent\("e"\) inside task "inside"/,
  );
  t.equal((await runFlow(flow("short", () => sleep("2s")))).state.name, "Completed");
  await t.rejects(waitForEvent("e"), /only available inside a run/);
  await sleep(0.001);
});

t.test("a time that cannot be waited for fails the call, and one that has passed needs no wait", async (t) => {
  const past = await runFlow(flow("past", { durable: true }, () => sleepUntil(new Date(0))));
  t.equal(past.state.name, "Completed");
  for (const date of [new Date(Number.NaN), new Date("+010000-01-01T00:00:00Z")]) {
    const { state } = await runFlow(flow("never", { durable: true }, () => sleepUntil(date)));
    t.match(state.message, /^RangeError: sleepUntil\(\) takes a date up to 2255-06-05T\S+, not /);
  }
  for (const wait of [() => sleep(-1), () => waitForEvent("e", { timeout: -1 }), () => callback({ timeout: "soon" })]) {
    const { state } = await runFlow(flow("wrong", { durable: true }, async () => void (await wait())));
    t.match(state.message, /^RangeError: (a duration is a number of seconds from 0 up, not -1|"soon" is not a duration)/);
  }
});

t.test("a condition on an event that is not JSON fails the call, because any event would meet it", async (t) => {
  const order: { id?: number } = {};
  for (const value of [order.id, () => 7, Symbol("7"), 7n]) {
    const wait = flow("order", { durable: true }, () => waitForEvent("paid", { where: { "payload.order": value } }));
    const { state } = await runFlow(wait, {}, { events: [{ name: "paid", payload: { order: 8 } }] });
    t.match(
      state.message,
      `TypeError: waitForEvent("paid") compares "payload.order" with a value that is not JSON: ${String(value)}`,
    );
  }
});

t.test("a timeout of 0 ends the wait at once", async (t) => {
  for (const [wait, waitedFor] of [
    [() => waitForEvent("paid", { timeout: 0 }), 'event "paid"'],
    [async () => await (await callback({ timeout: 0 })).result(), "the callback"],
    [() => waitForInput("Go?", undefined, { timeout: 0 }), 'the answer to "Go?"'],
  ] as const) {
    const { state } = await runFlow(flow("zero", { durable: true }, async () => void (await wait())));
    t.match(state, { name: "Failed", message: `WaitTimeout: ${waitedFor} did not come within 0 s` });
  }
});

t.test("a cancel ends a run that waits, and waits fail with the reason of a stop", async (t) => {
  const controller = new AbortController();
  const waiting = flow("waits", { durable: true }, async () => {
    setImmediate(() => controller.abort());
    await Promise.all([
      sleep("1h"),
      new Promise((_, reject) => run.signal.addEventListener("abort", () => reject(run.signal.reason))),
    ]);
  });
  t.equal((await runFlow(waiting, {}, { signal: controller.signal })).state.name, "Cancelled");
});

t.test("the number of the attempt goes on over a wait", async (t) => {
  const attempts: number[] = [];
  const recording = await runFlow(
    flow("twice", { durable: true, retries: 1 }, async () => {
      attempts.push(run.attempt);
      await sleep("1h");
      if (run.attempt === 1) throw new Error("first");
      await sleep("2h");
      return run.attempt;
    }),
  );
  t.equal(recording.result, 2);
  t.same(attempts, [1, 1, 2, 2]);
});
