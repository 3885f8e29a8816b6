/** The code of the guides behaves as described, in this process and in simulated time. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { definitionOf } from "#sdk/define/flow";
import { runFlow } from "#sdk/testing/index";
import { agent } from "../../../examples/guides/agent.ts";
import { release } from "../../../examples/guides/approval.ts";
import { daily, summary } from "../../../examples/guides/backfill.ts";
import { order } from "../../../examples/guides/order.ts";
import { nightly, video } from "../../../examples/guides/resources.ts";
import { mirror } from "../../../examples/guides/retry.ts";
import { report } from "../../../examples/guides/schedule.ts";
import { primes } from "../../../examples/guides/shared-engines.ts";
import { fragile, greeting } from "../../../examples/tour/greeting.ts";

t.test("tour: one flow greets, the other fails", async (t) => {
  const greeted = await runFlow(greeting, { name: "Ada" });
  t.equal(greeted.result, "Hello, Ada");
  t.same(greeted.messages, ["Hello, Ada"]);
  const failed = await runFlow(fragile);
  t.match(failed.state, { type: "Failed", message: /cannot divide by zero/ });
  t.same(failed.messages, ["about to divide by zero", "attempt 1 of 1 failed: Error: cannot divide by zero"]);
});

t.test("schedule: three kinds, each with its policy", async (t) => {
  t.match(
    definitionOf(report)?.options.schedules?.map(({ wire }) => wire),
    [
      { kind: "cron", catchup: "latest", key: "workdays", timezone: "Europe/Berlin" },
      { kind: "interval", interval: 21_600 },
      { kind: "rrule", key: "month-end" },
    ],
  );
  t.equal((await runFlow(report)).state.type, "Completed");
});

t.test("retry: a failure in passing is tried again, a page that does not exist is not", async (t) => {
  const answers = [500, 500, 200, 404];
  const server = createServer((_request, response) => {
    response.statusCode = answers.shift() ?? 500;
    response.end("a page");
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const mirrored = await runFlow(mirror, { url });
  t.equal(mirrored.result, "a page".length);
  t.equal(mirrored.taskRun("fetch-page-0").states.filter(({ name }) => name === "AwaitingRetry").length, 2);
  const missing = await runFlow(mirror, { url });
  t.match(missing.taskRun("fetch-page-0").state, { type: "Failed", message: /does not exist/ });
  t.equal(missing.taskRun("fetch-page-0").states.filter(({ name }) => name === "AwaitingRetry").length, 0);
});

t.test("approval: the run waits, and goes on with the answer", async (t) => {
  t.match((await runFlow(release)).state, { type: "Paused", message: "Release build 42?" });
  t.equal((await runFlow(release, {}, { answers: [{ approve: true, note: "looks good" }] })).result, "build 42 is out");
  t.equal((await runFlow(release, {}, { answers: [{ approve: false }] })).result, "build 42 stays here");
});

t.test("shared engines: the flow that is alone in its engine computes", async (t) => {
  t.equal((await runFlow(primes, { below: 30 })).result, 10);
  t.match(definitionOf(primes)?.wire, { exclusive: true });
});

t.test("resources: held by a task, by a part of a flow, and by a whole flow", async (t) => {
  const recording = await runFlow(video, { name: "cat" }, { resources: { gpu: 2, uplink: 1 } });
  t.equal(recording.result, "cat.mp4");
  t.same(recording.messages, ["uploading cat.mp4"]);
  t.match(definitionOf(nightly)?.wire, { resources: { database: 1 }, max_concurrent: 1, on_overlap: "skip" });
});

t.test("backfill: values that are done are known, and the flow that follows takes the day over", async (t) => {
  const asked = definitionOf(daily)?.options.bulkComplete;
  t.same(await asked?.(["2026-01-01", "2026-01-02"]), ["2026-01-02"]);
  t.same((await runFlow(daily, { day: "2026-01-01" })).messages, ["loading 2026-01-01 from the archive"]);
  t.match(definitionOf(summary)?.wire.after, { flows: ["daily"], key: "day" });
  t.same((await runFlow(summary, { day: "2026-01-01" })).messages, ["summing up 2026-01-01"]);
});

t.test("rules: files hold what the interface takes", async (t) => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(`../../../examples/${path}`, import.meta.url), "utf8"));
  t.match(read("tour/rule.json"), { name: String, when: {}, do: [{ kind: "run_flow" }] });
  t.equal(read("guides/rules.json").length, 3);
});

t.test("durable runs: an order waits for its payment, an agent for a person", async (t) => {
  const paid = await runFlow(order, { order: 7 }, { events: [{ name: "order.paid", payload: { order: 7 }, after: 3_600 }] });
  t.equal(paid.result, "parcel of order 7");
  const late = await runFlow(order, { order: 8 }, { events: [{ name: "order.paid", payload: { order: 7 } }] });
  t.equal(late.result, "order 8 is back on its shelf");
  const asked = await runFlow(agent, { wish: "paint" }, { answers: [true] });
  t.equal(asked.result, "done: order of 2 cans of no. 7");
  t.equal(asked.taskRuns.filter(({ name }) => name === "ask-model").length, 3, "each turn of the model once");
  t.equal((await runFlow(agent, { wish: "paint" })).result, "done: a person has refused this");
});
