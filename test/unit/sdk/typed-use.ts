/**
 * Compiler results for users of the package: `npm run types` checks them here, `npm run check:package` where the package is
 * installed. A line that must not compile has the reason above; the compiler reports such a line if it does compile.
 */

import {
  artifact,
  callback,
  child,
  childMap,
  cron,
  expectBy,
  type Flow,
  flow,
  route,
  rule,
  step,
  type Task,
  type TaskRun,
  Type,
  task,
  waitForInput,
} from "millrace";
import * as client from "millrace/client";
import { callRoute, fireRule, runFlow } from "millrace/testing";

/** True only when both types are equal; the compiler rejects `false` as an argument below. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function same<A, B>(_: Same<A, B>): void;

// Tasks: parameters, results, options.

export const double = task("double", { retries: 2, timeout: "10s" }, async (value: number) => value * 2);
same<typeof double, Task<[value: number], number>>(true);
same<ReturnType<typeof double>, TaskRun<number>>(true);
void double(21).catch((error: RangeError) => error.message);
// @ts-expect-error a text is no number
void double("21");
// @ts-expect-error the number is missing
void double();
// @ts-expect-error the option is called retries
task("misspelled", { retrys: 3 }, () => 1);
// @ts-expect-error a duration is a number of seconds or a text
task("no-duration", { timeout: true }, () => 1);
// @ts-expect-error the items are numbers
void double.map(["1"]);
void double.map([1, 2]).then((results) => same<typeof results, number[]>(true));
void double.map([1, double(2)], { concurrency: 2 }).then((results) => same<typeof results, number[]>(true));
void double
  .map([1, 2], { settle: true, label: (item, index) => `${item.toFixed()}-${index}` })
  .then((results) => same<typeof results, PromiseSettledResult<number>[]>(true));
// @ts-expect-error a label is a text
void double.map([1, 2], { label: (item) => item });
// @ts-expect-error the task takes no lists
void double.map([1, 2], { batchSize: 2 });
export const total = task("total", async (values: readonly number[]) => values.length);
void total
  .map([1, 2], { batchSize: 2, label: (batch) => `${batch.length}` })
  .then((results) => same<typeof results, number[]>(true));
void total
  .map([1, 2], { batchSize: 2, settle: true })
  .then((results) => same<typeof results, PromiseSettledResult<number>[]>(true));
same<ReturnType<typeof double.with>, typeof double>(true);
void double.with({ label: "first", retries: 3, timeout: "1m" })(21);
// @ts-expect-error concurrency belongs to the declaration
double.with({ concurrency: 1 });

// Flows: which parameters a call gives, and what it gets.

export const doubling = flow(
  "doubling",
  {
    parameters: Type.Object({
      value: Type.Integer({ minimum: 1 }),
      note: Type.String({ default: "" }),
      dry: Type.Optional(Type.Boolean()),
    }),
  },
  async ({ value, note, dry }) => {
    same<typeof value, number>(true);
    same<typeof note, string>(true);
    same<typeof dry, boolean | undefined>(true);
    return { sum: await double(value) };
  },
);
same<ReturnType<typeof doubling>, Promise<{ sum: number }>>(true);
void doubling({ value: 21 });
void doubling({ value: 21, note: "all", dry: true });
// @ts-expect-error value is required
void doubling({});
// @ts-expect-error value is required
void doubling();
// @ts-expect-error value is required, note alone is not enough
void doubling({ note: "x" });
// @ts-expect-error a text is no integer
void doubling({ value: "21" });
// @ts-expect-error there is no such parameter
void doubling({ value: 21, valeu: 22 });

export const greeting = flow(
  "greeting",
  { parameters: Type.Object({ name: Type.String({ default: "world" }) }) },
  ({ name }) => name,
);
same<typeof greeting, Flow<{ name: string }, string>>(true);
void greeting();
void greeting({});
void greeting({ name: "Ada" });
void greeting.start({ name: "Ada" }, { tags: ["vip"] }).then(async (started) => {
  same<typeof started.id, number>(true);
  same<Awaited<ReturnType<typeof started.result>>, string>(true);
});
void greeting.startMany([{ name: "Ada" }, {}]).then((started) => same<(typeof started)[number]["id"], number>(true));
void greeting.runAndWait().then((text) => same<typeof text, string>(true));
void doubling.runAndWait({ value: 1 }).then((result) => same<typeof result, { sum: number }>(true));
// @ts-expect-error value is required
void doubling.start();
// @ts-expect-error a value is a number
void doubling.startMany([{ value: "1" }]);

export const kinds = flow(
  "kinds",
  {
    parameters: Type.Object({
      mode: Type.Enum(["fast", "slow"], { default: "fast" }),
      either: Type.Union([Type.Integer(), Type.Null()], { default: null }),
      list: Type.Array(Type.String(), { default: [] }),
      pair: Type.Tuple([Type.Integer(), Type.Integer()], { default: [1, 2] }),
      table: Type.Record(Type.String(), Type.Number(), { default: {} }),
      nested: Type.Object({ depth: Type.Number() }, { default: { depth: 1 } }),
      fixed: Type.Literal("x", { default: "x" }),
      anything: Type.Unknown({ default: 1 }),
    }),
  },
  (parameters) => parameters,
);
void kinds();
void kinds({ mode: "slow", either: 3, list: ["a"], pair: [3, 4], table: { a: 1 }, nested: { depth: 2 } });
// @ts-expect-error there is no such mode
void kinds({ mode: "steady" });

export const literal = flow(
  "literal",
  {
    parameters: {
      type: "object",
      properties: { day: { type: "string" }, limit: { type: "integer", default: 10 }, note: { type: "string" } },
      required: ["day", "limit"],
    },
  },
  ({ day, limit }) => `${day}: ${limit}`,
);
void literal({ day: "2026-01-01" });
// @ts-expect-error day is required
void literal({ limit: 3 });

export const plain = flow("plain", { retries: 1, schedules: [cron("0 8 * * *")] }, () => 1);
same<ReturnType<typeof plain>, Promise<number>>(true);
void plain();
// @ts-expect-error the flow takes no parameters
void plain({ day: "2026-01-01" });
// @ts-expect-error the option is called retries
flow("misspelled", { retrys: 3 }, () => 1);
// @ts-expect-error the option is called retries, with parameters too
flow("misspelled", { parameters: Type.Object({ day: Type.String() }), retrys: 3 }, ({ day }) => day);
// @ts-expect-error there is no such answer to an overlap
flow("overlap", { onOverlap: "queue" }, () => 1);
// @ts-expect-error the schema has no such parameter
flow("other", { parameters: Type.Object({ day: Type.String() }) }, ({ date }) => date);

// Tests, the client, rules, routes: nothing of it is `any`.

void runFlow(doubling, { value: 21 }).then(({ result, states }) => {
  same<typeof result, { sum: number } | undefined>(true);
  same<(typeof states)[number]["type"], client.StateType>(true);
});
void runFlow(greeting, {}, { name: "run-1" });
// @ts-expect-error value is required
void runFlow(doubling);
// @ts-expect-error there is no such option
void runFlow(greeting, {}, { nmae: "run-1" });

export const millrace = new client.Millrace({ url: "http://127.0.0.1:4270" });
void millrace.runs.get(1).then((run) => {
  same<typeof run.name, string>(true);
  same<typeof run.id, number>(true);
  // @ts-expect-error the state is an object
  run.state.toUpperCase();
});
void millrace.waitFor<typeof doubling>(1).then(({ result }) => same<typeof result, { sum: number } | undefined>(true));
// @ts-expect-error a run is created by the name of its flow
void millrace.runs.create({ parameters: {} });
const defaults = { flow: "f", project: "p" };
void millrace.runs.createMany([{}], { defaults }).then((created) => same<typeof created, client.CreatedRun[]>(true));
void millrace.runs.createMany([{ flow_id: 1 }], { partial: true }).then(([first]) => {
  // @ts-expect-error a refused run has no id
  first?.id.toFixed();
});
// @ts-expect-error parameters are an object
void millrace.runs.createMany([{ parameters: 1 }], { defaults });

export const late = rule("late", expectBy("0 8 * * *", { events: ["run.completed"] }), (event) => {
  same<typeof event.name, string>(true);
});
void fireRule(late, { name: "run.late" });
// @ts-expect-error an event has a name
void fireRule(late, {});
// @ts-expect-error there is no such kind of action
rule("wrong", {}, [{ kind: "run_flows", flow: "report" }]);
export const status = route("GET", "/status", () => ({ ok: true }));
void callRoute(status, "http://127.0.0.1/status");
// @ts-expect-error a table has rows
artifact.table("summary");

// Durable runs: children are typed by their flow, steps and answers by what they return.

void child(doubling, { value: 1 })
  .run()
  .then((result) => same<typeof result, { sum: number }>(true));
void child(greeting).start();
void child(greeting, {}, { key: "once", delay: "1h", onParentEnd: "leave" }).start();
// @ts-expect-error value is required
void child(doubling, {}).run();
// @ts-expect-error there is no such end
void child(greeting, {}, { onParentEnd: "stay" }).start();
void childMap(doubling, [{ value: 1 }, { value: 2 }], { concurrency: 2 }).then((results) =>
  same<typeof results, { sum: number }[]>(true),
);
void childMap(doubling, [{ value: 1 }], { settle: true }).then((results) =>
  same<typeof results, PromiseSettledResult<{ sum: number }>[]>(true),
);
// @ts-expect-error the items are parameters of the flow
void childMap(doubling, [1, 2]);
same<ReturnType<typeof step<Promise<number>>>, TaskRun<number>>(true);
void step("now", () => new Date(), { key: "now", retries: 2 });
task("keyed", { key: (order: number) => `order ${order}`, onChange: "fail" }, (order: number) => order);
void waitForInput("Which?", Type.Integer(), { timeout: "1d", default: null }).then((answer) =>
  same<typeof answer, number | null>(true),
);
void waitForInput("Which?", Type.Integer()).then((answer) => same<typeof answer, number>(true));
void callback<{ ok: boolean }>({ timeout: 60 })
  .then((called) => called.result())
  .then((answer) => same<typeof answer, { ok: boolean }>(true));
