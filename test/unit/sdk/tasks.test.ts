import t from "tap";
import { Abort, artifact, file, flow, log, progress, run, type TaskRun, task } from "#sdk/index";
import { FakeClock, runFlow } from "#sdk/testing/index";

const names = (states: { name: string }[]) => states.map((state) => state.name);

t.test("a task outside a run is an ordinary call", async (t) => {
  const add = task("add", (a: number, b: number) => a + b);
  t.equal(await add(1, add(2, 3)), 6);
  t.same(await task("double", (n: number) => n * 2).map([1, 2], { concurrency: 1 }), [2, 4]);
  t.equal(task.signal.aborted, false);
});

t.test("task runs are recorded with their states and parents", async (t) => {
  const one = task("one", async () => ({ n: 1 }));
  const two = task("two", async (from: { n: number }) => from.n + 1);
  const all = task(
    "all",
    async (parts: { list: number[]; base: { n: number } }, more: number[]) => parts.list.length + more.length,
  );
  const piped = flow("piped", async () => {
    const first = one();
    const base = await first;
    const list = two.map([first, base]);
    return await all({ list, base }, [two(base)]);
  });
  const recording = await runFlow(piped);
  t.equal(recording.result, 3);
  t.same(names(recording.states), ["Scheduled", "Pending", "Running", "Completed"]);
  t.same(
    recording.taskRuns.map(({ dynamicKey, parents }) => [dynamicKey, parents]),
    [
      ["one-0", []],
      ["two-0", ["one-0"]],
      ["two-1", ["one-0"]],
      ["two-2", ["one-0"]],
      ["all-0", ["two-0", "two-1", "one-0", "two-2"]],
    ],
  );
  for (const taskRun of recording.taskRuns) t.same(names(taskRun.states), ["Pending", "Running", "Completed"]);
});

t.test("a failed task is tried again after its delays, and then fails the flow", async (t) => {
  const flaky = task("flaky", { retries: 2, retryDelay: ["10s", "1h"] }, async () => {
    throw new TypeError("no");
  });
  const recording = await runFlow(flow("failing", () => flaky()));
  const { states } = recording.taskRun("flaky-0");
  t.same(names(states), ["Pending", "Running", "AwaitingRetry", "Retrying", "AwaitingRetry", "Retrying", "Failed"]);
  t.match(states[2], { type: "Scheduled", message: "TypeError: no", details: { attempt: 1, delay: 10, retries: 2 } });
  t.ok((states[5]?.timestamp ?? 0) - (states[4]?.timestamp ?? 0) >= 3_600_000_000, "an hour of simulated time has passed");
  t.match(recording.state, { type: "Failed", message: "TypeError: no", details: { exception: "TypeError" } });
});

t.test("Abort ends a task and its flow without a retry", async (t) => {
  const give = task("give", { retries: 5 }, async () => {
    throw new Abort("no use");
  });
  const recording = await runFlow(flow("aborting", { retries: 5 }, () => give()));
  t.same(names(recording.taskRun("give-0").states), ["Pending", "Running", "Failed"]);
  t.same(names(recording.states), ["Scheduled", "Pending", "Running", "Failed"]);
});

t.test("a task that awaits a failed one fails with it, and passes its error on", async (t) => {
  const bad = task("bad", async (): Promise<number> => {
    throw new Error("root");
  });
  const next = task("next", async (n: number) => n);
  const recording = await runFlow(flow("chain", () => next(bad())));
  t.match(recording.taskRun("next-0").state, { name: "Failed", message: "upstream task failed: Error: root" });
  t.equal(recording.state.message, "Error: root");
});

t.test("the failure of a task run that is not awaited fails the run", async (t) => {
  const bad = task("bad", async () => {
    throw new Error("unseen");
  });
  const forgetful = flow("forgetful", () => {
    void bad();
    return "done";
  });
  t.match((await runFlow(forgetful)).state, { type: "Failed", message: "Error: unseen" });
});

t.test("a time limit aborts the signal and fails the attempt as TimedOut", async (t) => {
  const clock = new FakeClock();
  let reason: unknown;
  const slow = task("slow", { timeout: "30s" }, () => {
    const { signal } = task;
    signal.addEventListener("abort", () => {
      reason = signal.reason;
    });
    setImmediate(() => clock.advance(30_000));
    return new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
  });
  const recording = await runFlow(
    flow("timed", () => slow()),
    {},
    { clock },
  );
  t.match(recording.taskRun("slow-0").state, { type: "Failed", name: "TimedOut", message: "timed out after 30 s" });
  t.match(reason, { name: "TimedOut" });
});

t.test("concurrency bounds the task runs of one task, and of one map", async (t) => {
  let running = 0;
  let most = 0;
  const body = async (n: number) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return n * 2;
  };
  const bounded = task("bounded", { concurrency: 2 }, body);
  const free = task("free", body);
  const recording = await runFlow(
    flow("many", async () => [
      await Promise.all([1, 2, 3, 4, 5].map((n) => bounded(n))),
      await free.map([1, 2, 3, 4], { concurrency: 2 }),
    ]),
  );
  t.same(recording.result, [
    [2, 4, 6, 8, 10],
    [2, 4, 6, 8],
  ]);
  t.equal(most, 2);
});

t.test("a task run can be cancelled", async (t) => {
  const endless = task(
    "endless",
    () => new Promise<void>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason))),
  );
  const recording = await runFlow(
    flow("picky", async () => {
      const taskRun: TaskRun<void> = endless();
      taskRun.cancel("not needed");
      return await taskRun.catch((error: unknown) => String(error));
    }),
  );
  t.equal(recording.result, "Cancelled: not needed");
  t.match(recording.taskRun("endless-0").state, { type: "Cancelled", message: "not needed" });
});

t.test("results are cached by key until they expire", async (t) => {
  let calls = 0;
  const square = task("square", { cache: { key: (n) => `n=${n}`, expires: "1h" } }, async (n: number) => {
    calls += 1;
    return { square: n * n };
  });
  const options = { home: t.testdir(), clock: new FakeClock() };
  const cached = flow("cached", async () => [await square(3), await square(3), await square(4)]);
  const first = await runFlow(cached, {}, options);
  t.same(first.result, [{ square: 9 }, { square: 9 }, { square: 16 }]);
  t.match(first.taskRun("square-1").state, { type: "Completed", name: "Cached" });
  t.equal(calls, 2);
  await runFlow(cached, {}, options);
  t.equal(calls, 2);
  options.clock.advance(3_601_000);
  await runFlow(cached, {}, options);
  t.equal(calls, 4);
});

t.test("a cached result is the same value again; one that cannot be stored is not cached, with a warning", async (t) => {
  const options = { home: t.testdir() };
  const given = { at: new Date(0), rows: new Map([["a", 1n]]), none: undefined };
  const rich = task("rich", { cache: { key: "rich" } }, async () => given);
  const again = flow("again", async () => t.same([await rich(), await rich()], [given, given]));
  t.match((await runFlow(again, {}, options)).taskRun("rich-1").state, { name: "Cached" });
  const nothing = task("nothing", { cache: { key: "nothing" } }, async () => undefined);
  const absent = flow("absent", async () => t.same([await nothing(), await nothing()], [undefined, undefined]));
  t.match((await runFlow(absent, {}, options)).taskRun("nothing-1").state, { name: "Cached" });
  const opened = task("opened", { cache: { key: "opened" } }, async () => ({ close: () => "closed" }));
  const closing = flow("closing", async () => [(await opened()).close(), (await opened()).close()]);
  const recording = await runFlow(closing, {}, options);
  t.same(recording.result, ["closed", "closed"]);
  const message = "the result could not be cached: NotStorableError: the result.close is a function, which cannot be stored";
  t.match(recording.logs, [
    { level: 30, message },
    { level: 30, message },
  ]);
});

t.test("a task whose output exists is skipped; its result is the target", async (t) => {
  const directory = t.testdir();
  const target = (day: string) => file(`${directory}/${day}.txt`);
  const write = task("write", { output: target }, async (day: string) => {
    await target(day).write(`rows of ${day}`);
  });
  const made = flow("made", async () => [await (await write("a")).readText(), await (await write("a")).readText()]);
  const recording = await runFlow(made);
  t.same(recording.result, ["rows of a", "rows of a"]);
  t.same(
    recording.taskRuns.map(({ state }) => state.name),
    ["Completed", "Skipped"],
  );
});

t.test("logs, printed lines and artifacts belong to the task run they come from", async (t) => {
  const noisy = task("noisy", () => {
    log.warning("level %d", 30, { deep: [1] });
    console.log("printed");
    progress(10, "begun");
    progress(120);
    return artifact.markdown("Note", "*text*", { key: "note" });
  });
  const recording = await runFlow(
    flow("noise", async () => {
      log.info(run.name, run.attempt);
      log.warn("as the console calls it");
      await noisy();
    }),
  );
  t.same(
    recording.logs.map(({ level, logger, message }) => [level, logger, message]),
    [
      [20, "millrace.run", "test-run 1"],
      [30, "millrace.run", "as the console calls it"],
      [30, "millrace.run", "level 30 { deep: [ 1 ] }"],
      [20, "millrace.print", "printed"],
    ],
  );
  t.equal(recording.logs[0]?.task_run_external_id, null);
  t.equal(recording.logs[3]?.task_run_external_id, recording.taskRun("noisy-0").id);
  t.match(recording.artifacts, [
    { kind: "progress", key: null, data: { value: 100, label: null }, taskRun: "noisy-0" },
    { kind: "markdown", key: "note", data: { title: "Note", text: "*text*" }, taskRun: "noisy-0" },
  ]);
});

t.test("an artifact above 1 MB is refused where it is made", async (t) => {
  const big = flow("big", () => artifact.markdown("big", "x".repeat(1_048_577)));
  t.match((await runFlow(big)).state, { type: "Failed", message: /artifact exceeds 1 MB/ });
});

t.test("hooks hear of the end of a task and of a run", async (t) => {
  const heard: string[] = [];
  const bad = task("bad", { hooks: { onFailure: ({ task, state }) => heard.push(`${task?.dynamicKey} ${state.name}`) } }, () => {
    throw new Error("x");
  });
  const hooked = flow("hooked", { hooks: { onFailure: ({ run, state }) => heard.push(`${run.flow} ${state.message}`) } }, () =>
    bad(),
  );
  await runFlow(hooked);
  t.same(heard, ["bad-0 Failed", "hooked Error: x"]);
});

t.test("a task called by a task is cancelled with it", async (t) => {
  const clock = new FakeClock();
  const inner = task("inner", () => {
    setImmediate(() => clock.advance(1_000));
    return new Promise<void>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason)));
  });
  const outer = task("outer", { timeout: 1 }, () => inner());
  const recording = await runFlow(
    flow("nested", () => outer().catch((error: unknown) => String(error))),
    {},
    { clock },
  );
  t.equal(recording.result, "TimedOut: timed out after 1 s");
  t.equal(recording.taskRun("outer-0").state.name, "TimedOut");
  t.match(recording.taskRun("inner-0").state, { type: "Cancelled", message: "timed out after 1 s" });
});
