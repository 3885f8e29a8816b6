import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import t from "tap";
import { flow } from "#sdk/define/flow";
import { Abort, ParameterError, run, Type, task } from "#sdk/index";
import { loadModule } from "#sdk/modules/load-module";
import { FakeClock, runFlow } from "#sdk/testing/index";

const names = (states: { name: string }[]) => states.map((state) => state.name);

t.test("a flow runs inside the run that calls it; outside a run its parameters are checked before anything else", async (t) => {
  const step = task("step", (n: number) => n + 1);
  const inner = flow("inner", { parameters: Type.Object({ n: Type.Integer() }) }, ({ n }) => step(n));
  const outer = flow("outer", async () => await inner({ n: 1 }));
  const recording = await runFlow(outer);
  t.equal(recording.result, 2);
  t.equal(recording.taskRuns.length, 1);
  await t.rejects(inner({ n: 0.5 }), ParameterError);
});

t.test("a failed flow is tried again after its delay, with task keys that go on counting", async (t) => {
  let tries = 0;
  const step = task("step", () => undefined);
  const flaky = flow("flaky", { retries: 2, retryDelay: "5m" }, async () => {
    await step();
    tries += 1;
    if (tries < 3) throw new Error(`try ${tries}`);
    return tries;
  });
  const recording = await runFlow(flaky);
  t.same(names(recording.states), [
    "Scheduled",
    "Pending",
    "Running",
    "AwaitingRetry",
    "Retrying",
    "AwaitingRetry",
    "Retrying",
    "Completed",
  ]);
  t.match(recording.states[3], { message: "Error: try 1", details: { attempt: 1, delay: 300, retries: 2, exception: "Error" } });
  t.same(
    recording.taskRuns.map(({ dynamicKey }) => dynamicKey),
    ["step-0", "step-1", "step-2"],
  );
});

t.test("a run out of time ends as TimedOut without a retry, its tasks as Cancelled", async (t) => {
  const clock = new FakeClock();
  const wait = task("wait", () => {
    setImmediate(() => clock.advance(60_000));
    return new Promise<void>((_, reject) => task.signal.addEventListener("abort", () => reject(new Error("stopped"))));
  });
  const recording = await runFlow(
    flow("long", { timeout: "1m", retries: 3 }, () => wait()),
    {},
    { clock },
  );
  t.match(recording.state, { type: "Failed", name: "TimedOut", message: "timed out after 60 s" });
  t.equal(recording.taskRun("wait-0").state.type, "Cancelled");
});

t.test("a cancelled run ends as Cancelled", async (t) => {
  const controller = new AbortController();
  const wait = task("wait", () => {
    setImmediate(() => controller.abort());
    return new Promise<void>((_, reject) => task.signal.addEventListener("abort", () => reject(new Error("stopped"))));
  });
  const heard: string[] = [];
  const hooks = { onCancel: () => heard.push("cancelled") };
  const recording = await runFlow(
    flow("long", { hooks }, () => wait()),
    {},
    { signal: controller.signal },
  );
  t.match(recording.state, { type: "Cancelled", message: "cancelled" });
  t.same(heard, ["cancelled"]);
});

t.test("the return value is kept as JSON up to a limit, above it its size", async (t) => {
  t.same((await runFlow(flow("nothing", () => undefined))).state.details, {});
  t.same((await runFlow(flow("object", () => ({ at: new Date(0) })))).state.details, {
    result: { at: "1970-01-01T00:00:00.000Z" },
  });
  const large = await runFlow(flow("large", () => "x".repeat(70_000)));
  t.same(large.state.details, { result_bytes: 70_002 });
  t.match(large.messages, [
    /^the result is not kept: it has 70002 bytes as JSON, more than the 64000 that are stored\. Write it/,
  ]);
  const opens = await runFlow(flow("opens", () => () => 1));
  t.same(opens.state.details, { result_lost: "it is not JSON: it is a function" });
  t.same(opens.messages, ["the result is not JSON and is not kept: it is a function"]);
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const recording = await runFlow(flow("circular", () => circular));
  t.equal(recording.state.name, "Completed");
  t.match(recording.messages, [/the result is not JSON/]);
});

t.test("wrong declarations are refused where they stand", async (t) => {
  const declare = flow as unknown as (...args: unknown[]) => unknown;
  t.throws(() => declare(""), TypeError);
  t.throws(() => declare("x"), TypeError);
  t.throws(() => declare("x", { timeout: "soon" }, () => 1), RangeError);
  t.throws(() => (task as unknown as (...args: unknown[]) => unknown)("x", { concurrency: 0 }, () => 1), RangeError);
});

const DECLARED = `
  import { flow, Type } from "millrace";
  export const daily: unknown = flow("daily", {
    parameters: Type.Object({ day: Type.String({ default: "x" }) }),
    retries: 1, timeout: "10m", resources: { warehouse: 1 }, maxConcurrent: 1, onOverlap: "skip", tags: ["etl"], group: "g",
    description: "d", disableAfter: { failures: 3, within: "1h", pause: "30m" }, after: { flows: ["a", "b"], key: "day" },
    priority: -5, isolated: true, crashRetries: 2, logPrints: false, hooks: { onCrash: () => {} },
  }, () => 1);
  export const named = flow("plain", { project: "other" }, () => 1);
  export { named as again };
  export const notAFlow = 1;
`;

const DEFAULT_OPTIONS = {
  after: null,
  crash_retries: null,
  disable_after: null,
  has_bulk_complete: false,
  has_crash_hooks: false,
  hooks: [],
  isolated: false,
  log_prints: true,
  max_concurrent: null,
  on_overlap: "enqueue",
  priority: 0,
  resources: {},
  retries: 0,
  schedules: [],
  timeout_seconds: null,
};

const DAILY_OPTIONS = {
  after: { flow: "a", flows: ["a", "b"], key: "day", parameters: {} },
  crash_retries: 2,
  disable_after: [3, 3600, 1800],
  has_bulk_complete: false,
  has_crash_hooks: true,
  hooks: ["Crashed"],
  isolated: true,
  log_prints: false,
  max_concurrent: 1,
  on_overlap: "skip",
  priority: -5,
  resources: { warehouse: 1 },
  retries: 1,
  schedules: [],
  timeout_seconds: 600,
};

t.test("a registration carries every option in wire form", async (t) => {
  const directory = t.testdir({ "etl.ts": DECLARED });
  const loaded = await loadModule(directory, "etl.ts");
  t.equal(loaded.error, null);
  const place = { module: "etl.ts", source_dir: directory };
  const registrations = new Map(loaded.flows.map(({ registration }) => [registration.flow, registration]));
  t.same([...registrations.keys()].toSorted(), ["daily", "plain"]);
  t.same(registrations.get("plain"), {
    ...place,
    project: "other",
    flow: "plain",
    description: null,
    flow_group: null,
    flow_tags: [],
    parameter_schema: { type: "object", properties: {} },
    options: DEFAULT_OPTIONS,
  });
  t.same(registrations.get("daily"), {
    ...place,
    project: basename(directory),
    flow: "daily",
    description: "d",
    flow_group: "g",
    flow_tags: ["etl"],
    parameter_schema: { type: "object", properties: { day: { type: "string", default: "x" } } },
    options: DAILY_OPTIONS,
  });
});

t.test("a directory without any package can import millrace", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "millrace-flows-"));
  t.teardown(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "etl.ts"), DECLARED);
  t.match(await loadModule(directory, "etl.ts"), { error: null });
});

t.test("a module that cannot be imported is answered with an error and advice", async (t) => {
  const directory = t.testdir({
    "enum.ts": "export enum Colour { Red }",
    "alias.ts": 'import x from "@/flows"; export default x;',
    "throws.ts": 'throw new RangeError("at the top");',
    "page.tsx": "export const x = <b />;",
    "twice.ts": 'import { flow } from "millrace"; export const a = flow("x", () => 1); export const b = flow("x", () => 2);',
  });
  const wrong = [
    ["enum.ts", /^enum\.ts:1:8: .*write an object instead/],
    ["alias.ts", /write a relative path/],
    ["page.tsx", /Compile the file to JavaScript/],
  ] as const;
  for (const [file, error] of wrong) t.match(await loadModule(directory, file), { flows: [], error }, file);
  const loaded = await loadModule(directory, "throws.ts");
  t.equal(loaded.error, "RangeError: at the top");
  t.equal("traceback" in loaded && loaded.traceback.split("\n").at(-1), "RangeError: at the top");
  t.match(await loadModule(directory, "missing.ts"), { error: /missing\.ts/ });
  t.match(await loadModule(directory, "twice.ts"), { error: /two flows are called/ });
});

t.test("a flow called at import is ignored", async (t) => {
  const directory = t.testdir({
    "eager.ts": `
      import { flow } from "millrace";
      export const eager = flow("eager", () => { throw new Error("ran"); });
      await eager();
    `,
  });
  t.match(await loadModule(directory, "eager.ts"), { error: null, flows: [{ registration: { flow: "eager" } }] });
});

t.test("run gives the parameters as the flow gets them, and nothing outside a run", async (t) => {
  const shown = flow("shown", { parameters: Type.Object({ n: Type.Integer({ default: 3 }), m: Type.Integer() }) }, () => ({
    ...run.parameters,
    name: run.name,
    flow: run.flow,
    aborted: run.signal.aborted,
  }));
  const recording = await runFlow(shown, { m: "4" as unknown as number });
  t.same(recording.result, { n: 3, m: 4, name: "test-run", flow: "shown", aborted: false });
  t.throws(() => run.id, /only available inside a run/);
});

t.test("each failed attempt of a flow and of a task leaves a line with its number, the wait and the reason", async (t) => {
  let tries = 0;
  const fetch = task("fetch", { retries: 1, retryDelay: 90 }, () => {
    tries += 1;
    throw new TypeError(`try ${tries}`, { cause: new Error(`cause ${tries}`) });
  });
  const load = flow("load", { retries: 1, retryDelay: 2.5 }, async () => {
    await fetch();
  });
  const { messages } = await runFlow(load);
  t.equal(messages.length, 6);
  t.match(
    messages[0],
    /^attempt 1 of 2 failed, the next begins in 90 s: TypeError: try 1\n {4}at .*\[cause\]: Error: cause 1\n/s,
  );
  t.match(messages[1], /^attempt 2 of 2 failed: TypeError: try 2$/);
  t.match(messages[2], /^attempt 1 of 2 failed, the next begins in 2\.5 s: TypeError: try 2\n {4}at /);
  t.match(messages[5], /^attempt 2 of 2 failed: TypeError: try 4$/);
  const given = await runFlow(
    flow("given-up", { retries: 3 }, () => {
      throw new Abort("no such table");
    }),
  );
  t.same(given.messages, ["attempt 1 of 4 failed, and there is no other: Abort: no such table"]);
});

t.test("a traceback keeps its form and shows every cause, however deep", async (t) => {
  const chained = (left: number): Error => new Error(`level ${left}`, left === 0 ? {} : { cause: chained(left - 1) });
  const both = new AggregateError([new RangeError("first"), chained(1)], "both failed");
  for (const [error, ...parts] of [
    [chained(2), /^Error: level 2\n.* \{\n {2}\[cause\]: Error: level 1\n.*\[cause\]: Error: level 0\n.*\}$/s],
    [chained(12), /^Error: level 12\n/, /\[innermost cause\]: Error: level 0\n/],
    [both, /^AggregateError: both failed\n/, /RangeError: first/, /Error: level 1\n/, /\[cause\]: Error: level 0/],
  ] as const) {
    const failing = flow("failing", () => {
      throw error;
    });
    const traceback = String((await runFlow(failing)).state.details["traceback"]);
    for (const part of parts) t.match(traceback, part);
  }
});

t.test("a part of a result that JSON has no form for is told; other results are kept without a word", async (t) => {
  class Row {
    id = 1;
  }
  const lost: readonly [unknown, string][] = [
    [{ rows: new Map([["a", 1]]) }, "result.rows is an instance of Map"],
    [[1, new Set([2])], "result[1] is an instance of Set"],
    [{ mean: Number.NaN }, "result.mean is NaN"],
    [{ close: () => 1 }, "result.close is a function"],
    [[{ status: "rejected", reason: new Error("no") }], "result[0].reason is an instance of Error"],
    [{ cause: Object.assign(new TypeError("no"), { code: 1 }) }, "result.cause is an instance of TypeError"],
  ];
  for (const [value, loss] of lost) {
    const { messages, state } = await runFlow(flow("lossy", () => value));
    t.same(messages, [`the result is kept as JSON, which has no form for a part: ${loss}`]);
    t.equal(state.type, "Completed");
  }
  const whole = { at: new Date(0), row: new Row(), none: null, list: [], empty: {}, bytes: Buffer.from("a"), left: undefined };
  t.same((await runFlow(flow("whole", () => whole))).messages, []);
  let deep: unknown = 1;
  for (let depth = 0; depth < 3_000; depth++) deep = [deep];
  const { messages, state } = await runFlow(flow("deep", () => deep));
  t.same([messages, state.type], [[], "Completed"]);
});

t.test("a generator is no flow: its code would not be executed", async (t) => {
  for (const fn of [function* () {}, async function* () {}]) {
    t.throws(() => flow("rows", fn as never), /flow "rows" has a generator, whose code nothing would execute: leave out the \*/);
  }
});
