import t from "tap";
import {
  artifact,
  type DataRule,
  expectBy,
  expectWithin,
  type Flow,
  flow,
  log,
  type RuleFunction,
  rule,
  type Task,
  type TaskRun,
  Type,
  task,
} from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

interface Reading {
  place: string;
  value: number;
}

/** True only when both types are equal; the compiler rejects `false` below. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => true;

const fetchDay = task("fetch-day", { retries: 3, retryDelay: [1, 5, 30], timeout: "30s" }, async (day: string) => {
  const readings: Reading[] = [{ place: day, value: 1 }];
  return task.signal.aborted ? [] : readings;
});
const clean = task("clean", async (readings: Reading[]) => readings.filter(({ value }) => value > 0));
const count = task("count", (readings: Reading[]) => readings.length);

const daily = flow(
  "daily",
  {
    parameters: Type.Object({ day: Type.String({ format: "date", default: "2026-01-01" }) }),
    retries: 1,
    timeout: "10m",
    resources: { warehouse: 1 },
    maxConcurrent: 1,
    onOverlap: "skip",
    tags: ["etl"],
  },
  async ({ day }) => {
    const readings = clean(fetchDay(day));
    const [rows, total] = await Promise.all([readings, count(readings)]);
    artifact.table("summary", rows, { key: "daily" });
    log.info("rows", total);
    return total;
  },
);

t.test("tasks and flows are called with the types of their functions", async (t) => {
  t.ok(same<typeof clean, Task<[readings: Reading[]], Reading[]>>(true));
  t.ok(same<ReturnType<typeof count>, TaskRun<number>>(true));
  t.ok(same<typeof daily, Flow<{ day: string }, number>>(true));
  // @ts-expect-error a number is no day
  const wrong = () => fetchDay(1);
  // @ts-expect-error there is no such parameter
  const unknown = () => daily({ date: "2026-01-01" });
  t.type(wrong, "function");
  t.type(unknown, "function");
});

t.test("a rule has a function or actions, each with what its kind needs", async (t) => {
  const acts = rule("acts", expectBy("0 8 * * *", { events: ["run.completed"] }), [{ kind: "run_flow", flow: "report" }]);
  t.ok(same<typeof acts, DataRule>(true));
  const calls = rule("calls", { when: { events: ["run.failed"] } }, (event, run) => [event.name, run?.flow_name]);
  t.ok(same<typeof calls, RuleFunction>(true));
  // @ts-expect-error a flow is needed
  const lacking = () => rule("x", {}, [{ kind: "run_flow" }]);
  // @ts-expect-error functions are not named by data
  const foreign = () => rule("x", {}, [{ kind: "call", callable: "f" }]);
  // @ts-expect-error something is to come first
  const unarmed = () => expectWithin("1h", { events: ["run.completed"] }, {});
  for (const wrong of [lacking, foreign, unarmed]) t.type(wrong, "function");
});

t.test("the example of the SDK runs", async (t) => {
  const recording = await runFlow(daily);
  t.equal(recording.result, 1);
  t.same(recording.taskRun("count-0").parents, ["clean-0"]);
  t.same(recording.taskRun("clean-0").parents, ["fetch-day-0"]);
  t.match(recording.artifacts, [{ kind: "table", key: "daily", data: { columns: ["place", "value"] } }]);
  t.same(recording.messages, ["rows 1"]);
});
