import t from "tap";
import { DynamicKeys } from "#sdk/execution/dynamic-keys";
import { childMap, flow, type TaskRun, Type, task } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const half = task("half", (n: number) => {
  if (n % 2 === 1) throw new RangeError(`${n} is odd`);
  return { half: n / 2 };
});

const count = task("count", (outcomes: readonly PromiseSettledResult<{ half: number }>[]) => outcomes.length);

t.test("a settled map runs every item, and its failures do not fail the run", async (t) => {
  const recording = await runFlow(
    flow("settled", async () => {
      const outcomes = await half.map([1, 2, 3, 4], { settle: true, concurrency: 2 });
      t.equal(await count(outcomes.slice(1, 2)), 1);
      t.equal(await count(half.map([6], { settle: true })), 1);
      return outcomes.map((each) => (each.status === "fulfilled" ? each.value.half : (each.reason as Error).message));
    }),
  );
  t.same(recording.result, ["1 is odd", 1, "3 is odd", 2]);
  t.equal(recording.state.name, "Completed");
  t.same(
    recording.taskRuns.map(({ dynamicKey, state, parents }) => [dynamicKey, state.name, parents]),
    [
      ["half-0", "Failed", []],
      ["half-1", "Completed", []],
      ["half-2", "Failed", []],
      ["half-3", "Completed", []],
      ["count-0", "Completed", ["half-1"]],
      ["half-4", "Completed", []],
      ["count-1", "Completed", ["half-4"]],
    ],
  );
});

t.test("a settled map outside a run, of a promised list, answers in the same form", async (t) => {
  t.match(await half.map(Promise.resolve([2, 3]), { settle: true }), [
    { status: "fulfilled", value: { half: 1 } },
    { status: "rejected", reason: { message: "3 is odd" } },
  ]);
  await t.rejects(half.map([2, 3], { settle: false }), { message: "3 is odd" });
});

t.test("a settled map of a durable flow replays failures and results without calls", async (t) => {
  let calls = 0;
  const third = task("third", (n: number) => {
    calls += 1;
    if (n % 3 > 0) throw new Error(`${n} is not a multiple`);
    return n / 3;
  });
  let attempts = 0;
  const recording = await runFlow(
    flow("replayed", { durable: true, retries: 1 }, async () => {
      const outcomes = await third.map([3, 4], { settle: true, label: (n) => `of-${n}` });
      attempts += 1;
      if (attempts === 1) throw new Error("again");
      return outcomes.map(({ status }) => status);
    }),
  );
  t.same(recording.result, ["fulfilled", "rejected"]);
  t.ok(calls <= 3, "the stored result is not computed again");
  t.equal(recording.taskRun("third-of-3").state.name, "Completed");
});

t.test("a settled childMap waits for every child", async (t) => {
  const parameters = Type.Object({ n: Type.Integer() });
  const inner = flow("inner", { parameters }, async ({ n }) => (await half(n)).half);
  const recording = await runFlow(
    flow("outer", { durable: true }, async () => {
      const outcomes = await childMap(inner, [{ n: 1 }, { n: 2 }], { settle: true });
      return outcomes.map((each) => (each.status === "fulfilled" ? each.value : (each.reason as Error).name));
    }),
  );
  t.same(recording.result, ["ChildFailed", 1]);
});

t.test("labels name the task runs; a repeated label gets a number", async (t) => {
  const fetch = task("fetch", (day: string) => day);
  const recording = await runFlow(
    flow("labelled", async () => {
      await fetch.map(["2026-01-01", "2026-01-02", "2026-01-01"], { label: (day) => day });
      await fetch("numbered");
      await fetch.map(["x"], { label: (_, index) => String(index) });
      await fetch.with({ label: "last" })("z");
      await fetch.with({ label: "1" })("taken first");
      await fetch("numbered");
    }),
  );
  const expected = ["2026-01-01", "2026-01-02", "2026-01-01-2", "0", "0-2", "last", "1", "2"];
  t.same(
    recording.taskRuns.map(({ dynamicKey }) => dynamicKey),
    expected.map((each) => `fetch-${each}`),
  );
});

t.test("no two task runs have the same key, whatever the labels", async (t) => {
  const keys = new DynamicKeys();
  const asked: [string, string | undefined][] = [];
  for (let round = 0; round < 3; round += 1) {
    for (const name of ["a", "a-b", "a-2"]) {
      for (const label of [undefined, "2", "b", "b-0", "b-2", "2-2", "0"]) asked.push([name, label]);
    }
  }
  const given = asked.map(([name, label]) => keys.next(name, label));
  t.equal(new Set(given).size, given.length);
});

t.test("a label that cannot be shown is an error before any call", async (t) => {
  let calls = 0;
  const touch = task("touch", () => {
    calls += 1;
  });
  const labels: [unknown, RegExp][] = [
    [" ", /label of a call of task "touch" is empty/],
    [7, /is a text, not number/],
    [null, /is a text, not null/],
    ["x".repeat(201), /has 201 characters, more than 200/],
    ["a\nb", /has a line break/],
  ];
  for (const [label, message] of labels) {
    t.throws(
      () => touch.map([undefined, undefined] as never[], { label: (_, index) => (index === 0 ? "fine" : (label as string)) }),
      {
        message,
      },
    );
    t.throws(() => touch.with({ label: label as string }), { message });
  }
  t.throws(() => touch.map([1] as never[], { label: () => undefined as unknown as string }), { message: /not undefined/ });
  t.equal(calls, 0);
});

t.test("other options of a call replace those of the declaration, whose concurrency bounds all", async (t) => {
  let [running, most, attempts] = [0, 0, 0];
  const work = task("work", { concurrency: 1, retries: 0 }, async (fails: boolean) => {
    running += 1;
    most = Math.max(most, running);
    attempts += 1;
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (fails) throw new Error("down");
    return "done";
  });
  const recording = await runFlow(
    flow("varied", async () => {
      const patient = work.with({ retries: 2, label: "patient" });
      const runs: TaskRun<string>[] = [work(false), patient(true), patient.with({ retries: 0 })(false)];
      return (await Promise.allSettled(runs)).map(({ status }) => status);
    }),
  );
  t.same(recording.result, ["fulfilled", "rejected", "fulfilled"]);
  t.equal(most, 1);
  t.equal(attempts, 5);
  t.same(
    recording.taskRuns.map(({ dynamicKey }) => dynamicKey),
    ["work-0", "work-patient", "work-patient-2"],
  );
  t.throws(() => work.with({ retries: -1 }), RangeError);
});

t.test("a label is no part of a call's identity in a durable flow", async (t) => {
  let calls = 0;
  let attempts = 0;
  const once = task("once", (n: number) => {
    calls += 1;
    return n;
  });
  const recording = await runFlow(
    flow("relabelled", { durable: true, retries: 1 }, async () => {
      attempts += 1;
      await once.with({ label: `attempt-${attempts}` })(5);
      if (attempts === 1) throw new Error("again");
    }),
  );
  t.equal(recording.state.name, "Completed");
  t.equal(calls, 1);
});

t.test("batches call the task with lists", async (t) => {
  const sum = task("sum", (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0));
  const recording = await runFlow(
    flow("batched", async () => [
      await sum.map([1, 2, 3, 4, 5], { batchSize: 2 }),
      await sum.map([], { batchSize: 2 }),
      await sum.map(Promise.resolve([1, 2]), { batchSize: 9, settle: true, label: (batch, index) => `${batch.length}-${index}` }),
    ]),
  );
  t.same(recording.result, [[3, 7, 5], [], [{ status: "fulfilled", value: 3 }]]);
  t.same(
    recording.taskRuns.map(({ dynamicKey }) => dynamicKey),
    ["sum-0", "sum-1", "sum-2", "sum-2-0"],
  );
  for (const batchSize of [0, -1, 1.5, Number.NaN])
    t.throws(() => sum.map([1], { batchSize }), { message: /batchSize is a whole number from 1 up/ });
});

t.test("any iterable is a list; what is none is an error, before any call", async (t) => {
  const double = task("double", (n: number) => n * 2);
  t.same(await double.map(new Set([1, 2])), [2, 4]);
  t.same(await double.map([1, 2, 3].values()), [2, 4, 6]);
  t.same(await double.map(Promise.resolve(new Set([5]))), [10]);
  for (const [items, given] of [
    ["12", "string"],
    [null, "null"],
    [{}, "object"],
    [undefined, "undefined"],
  ] as const) {
    const message = `map of task "double" takes an array or another iterable of items, not ${given}`;
    t.throws(() => double.map(items as never), { name: "TypeError", message });
  }
});
