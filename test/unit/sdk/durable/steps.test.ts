/** Steps of durable flows, in simulated time and without a server. */
import t from "tap";
import { flow, sleep, step, task } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const names = (states: { name: string }[]) => states.map(({ name }) => name);

t.test("a step is done once, over a wait and over a retry", async (t) => {
  const done: string[] = [];
  let tries = 0;
  const order = flow("order", { durable: true, retries: 1 }, async () => {
    const reserved = await step("reserve", () => {
      done.push("reserve");
      return { at: new Date(5), lines: new Set([1]) };
    });
    await sleep("3d");
    const charged = await step("charge", () => {
      done.push("charge");
      return 7n;
    });
    tries += 1;
    if (tries === 1) throw new Error("first");
    return [reserved.at instanceof Date, reserved.lines.has(1), charged === 7n];
  });
  const recording = await runFlow(order);
  t.same(recording.result, [true, true, true]);
  t.same(done, ["reserve", "charge"]);
  t.same(names(recording.states), [
    ...["Scheduled", "Pending", "Running", "Sleeping", "Resuming", "Pending", "Running"],
    ...["AwaitingRetry", "Retrying", "Completed"],
  ]);
  t.same(
    recording.taskRuns.map(({ name, state }) => `${name} ${state.name}`),
    ["reserve Completed", "charge Completed"],
    "a stored step of the same run has its task run already",
  );
});

t.test("calls of one task find their results in whatever order they end", async (t) => {
  const calls: string[] = [];
  const a = task("a", async (n: number) => {
    calls.push(`a${n}`);
    await new Promise((resolve) => setTimeout(resolve, 6 - n));
    return n;
  });
  const b = task("b", (n: number) => {
    calls.push(`b${n}`);
    return n * 10;
  });
  const recording = await runFlow(
    flow("many", { durable: true }, async () => {
      const results = await Promise.all([1, 2, 3, 4].map(async (n) => [await a(n), await b(n)]));
      await sleep("1h");
      return results;
    }),
  );
  t.same(
    recording.result,
    [1, 2, 3, 4].map((n) => [n, n * 10]),
  );
  t.equal(calls.length, 8, "none was called again after the sleep");
});

t.test("equal calls are several steps; calls with the same key are one, also side by side", async (t) => {
  let count = 0;
  const next = task("next", () => ++count);
  const keyed = task("keyed", { key: (name: string) => name }, (_: string) => ++count);
  const recording = await runFlow(
    flow("equal", { durable: true }, async () => {
      const pair = await Promise.all([next(), next()]);
      const same = await Promise.all([keyed("x"), keyed("x"), keyed("y")]);
      await sleep("1h");
      return { pair, same, later: await keyed("x") };
    }),
  );
  t.same(recording.result, { pair: [1, 2], same: [3, 3, 4], later: 3 });
  t.equal(count, 4);
});

t.test("a failure that the flow has handled stays one after a wait; a retry of the flow calls the step again", async (t) => {
  let calls = 0;
  let tries = 0;
  const pay = task("pay", () => {
    calls += 1;
    if (calls < 2) throw Object.assign(new RangeError("declined"), { code: 51 });
    return "paid";
  });
  const recording = await runFlow(
    flow("pays", { durable: true, retries: 1 }, async () => {
      const paid = await pay().catch((error: unknown) => error);
      await sleep("1h");
      if (paid instanceof RangeError) {
        tries += 1;
        t.equal((paid as RangeError & { code: number }).code, 51);
        throw new Error("try later");
      }
      return paid;
    }),
  );
  t.equal(recording.result, "paid");
  t.equal(tries, 1);
  t.equal(calls, 2);
});

t.test("steps inside steps and inside called flows are found by their callers", async (t) => {
  const calls: string[] = [];
  const load = task("load", (from: string) => {
    calls.push(from);
    return from;
  });
  const outer = task("outer", async (from: string) => await load(from));
  const inner = flow("inner", { durable: true }, async () => await load("same"));
  const recording = await runFlow(
    flow("nested", { durable: true }, async () => {
      const results = [await outer("x"), await load("same"), await inner()];
      await sleep("1h");
      return results;
    }),
  );
  t.same(recording.result, ["x", "same", "same"]);
  t.same(calls, ["x", "same", "same"]);
});

t.test("a result that cannot be stored, or is too large, fails its task", async (t) => {
  const recording = await runFlow(flow("wrong", { durable: true }, () => step("wrong", () => ({ rows: [{ close: () => 1 }] }))));
  t.match(recording.state, { name: "Failed", message: /the result\.rows\[0\]\.close is a function, which cannot be stored/ });
  t.equal(recording.taskRun("wrong-0").state.name, "Failed");
  const large = await runFlow(flow("large", { durable: true }, () => step("large", () => "x".repeat(17 * 1024 * 1024))));
  t.match(large.state.message, /more than the 16777216 that are stored: write it to a file/);
});

t.test("a large result goes through a file of the home, and is checked when it is read", async (t) => {
  const home = t.testdir({});
  const text = "ü".repeat(100_000);
  let calls = 0;
  const large = flow("large", { durable: true }, async () => {
    const value = await step("large", () => {
      calls += 1;
      return text;
    });
    await sleep("1h");
    return value === text;
  });
  t.equal((await runFlow(large, {}, { home })).result, true);
  t.equal(calls, 1);
});

t.test("a step that differs from the stored one is run with a warning, or fails", async (t) => {
  const differing = (onChange: "run" | "fail") => {
    let attempt = 0;
    const fetch = task("fetch", { onChange }, (page: number) => page);
    return flow("differs", { durable: true }, async () => {
      attempt += 1;
      const page = await fetch(attempt);
      if (attempt === 1) await sleep("1h");
      return page;
    });
  };
  const run = await runFlow(differing("run"));
  t.equal(run.result, 2);
  t.match(run.logs, [{ level: 30, message: /^step "fetch" is called with other arguments .* than the stored step "fetch"/ }]);
  const failed = await runFlow(differing("fail"));
  t.match(failed.state, { name: "Failed", message: /^StepChangedError: step "fetch" is called with other arguments/ });
});

t.test("a loop that goes on after a wait is not taken for a change", async (t) => {
  const work = task("work", { onChange: "fail" }, (n: number) => n);
  const recording = await runFlow(
    flow("loop", { durable: true }, async () => {
      let sum = 0;
      for (const n of [1, 2, 3]) {
        sum += await work(n);
        await sleep("1h");
      }
      return sum;
    }),
  );
  t.equal(recording.result, 6);
  t.same(recording.messages, []);
});

t.test("a step of a flow that is not durable is a task in place", async (t) => {
  const recording = await runFlow(flow("plain", () => step("one", () => 1)));
  t.equal(recording.result, 1);
  t.equal(recording.taskRun("one-0").state.name, "Completed");
  t.equal(await step("outside", () => 2), 2);
});
