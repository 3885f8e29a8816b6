import t from "tap";
import { flow, log, Paused, Type, task, waitForInput } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const names = (states: { name: string }[]) => states.map((state) => state.name);

const twice = flow("twice", async () => {
  const first = await waitForInput("First?");
  const second = await waitForInput("Second?", Type.Integer());
  return { first, second };
});

t.test("a run pauses for an answer that is not there, with the question in its state", async (t) => {
  const recording = await runFlow(twice);
  t.same(names(recording.states), ["Scheduled", "Pending", "Running", "Paused"]);
  const { asked_at, ...details } = recording.state.details;
  t.same(details, { prompt: "First?", schema: null, task_run: null });
  t.type(asked_at, "number");
  t.match(recording.state, { type: "Paused", message: "First?" });
});

t.test("the n-th question takes the n-th answer, and the flow starts from its top with each", async (t) => {
  const recording = await runFlow(twice, {}, { answers: ["one", "2"] });
  t.same(recording.result, { first: "one", second: 2 }, "a text becomes the number that the schema asks for");
  const again = ["Resuming", "Pending", "Running"];
  t.same(names(recording.states), ["Scheduled", "Pending", "Running", "Paused", ...again, "Paused", ...again, "Completed"]);
});

t.test("null is an answer", async (t) => {
  t.same((await runFlow(twice, {}, { answers: [null, 3] })).result, { first: null, second: 3 });
});

t.test("an answer that does not fit is logged and the question is put again", async (t) => {
  const recording = await runFlow(twice, {}, { answers: ["one", "many", 2] });
  t.same(recording.result, { first: "one", second: 2 });
  t.equal(names(recording.states).filter((name) => name === "Paused").length, 3);
  t.match(recording.messages, [/^"Second\?" is asked again: answer: must be integer/, /^"Second\?" is asked again/]);
});

t.test("a question inside a task ends its task runs as Cancelled, without their hook", async (t) => {
  const heard: string[] = [];
  const hooks = { onCancel: () => heard.push("cancelled") };
  const ask = task("ask", { hooks, retries: 3 }, () => waitForInput("Go on?", Type.Boolean()));
  const idle = task(
    "idle",
    () => new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason))),
  );
  const recording = await runFlow(
    flow("asks", async () => {
      const idling = idle();
      const answer = await ask();
      idling.cancel();
      await idling.catch(() => undefined);
      return answer;
    }),
    {},
    { answers: [true] },
  );
  t.equal(recording.result, true);
  const [first, second] = [recording.taskRuns.filter(({ name }) => name === "ask"), recording.taskRuns[0]];
  t.same(
    first.map(({ state }) => state.name),
    ["Cancelled", "Completed"],
  );
  t.match(first[0]?.state, { message: "paused for input" });
  t.match(second?.state, { name: "Cancelled", message: "paused for input" });
  const paused = recording.states.find(({ type }) => type === "Paused");
  t.equal(paused?.details["task_run"], first[0]?.id);
  t.same(paused?.details["schema"], { type: "boolean" });
  t.same(heard, []);
});

t.test("cleaning up is possible, going on is not", async (t) => {
  const steps: string[] = [];
  const recording = await runFlow(
    flow("stubborn", { retries: 2 }, async () => {
      try {
        await waitForInput("?");
      } catch (error) {
        steps.push((error as Error).name);
        t.ok(error instanceof Paused);
      } finally {
        steps.push("cleaned up");
      }
      await task("late", () => steps.push("ran"))().catch(() => steps.push("refused"));
      return "done";
    }),
  );
  t.equal(recording.state.name, "Paused", "what the function made of it does not matter");
  t.same(steps, ["Paused", "cleaned up", "refused"]);
});

t.test("a function that does not return after a pause is left behind", async (t) => {
  const stuck = flow("stuck", async () => {
    await Promise.allSettled([waitForInput("?"), new Promise<never>(() => undefined)]);
  });
  t.equal((await runFlow(stuck)).state.name, "Paused");
});

t.test("questions that are not awaited pause the run too", async (t) => {
  const hasty = flow("hasty", async () => {
    void waitForInput("?");
    await new Promise((resolve) => setImmediate(resolve));
    return 1;
  });
  t.equal((await runFlow(hasty)).state.name, "Paused");
});

t.test("a retry asks the same questions again and gets the same answers", async (t) => {
  let tries = 0;
  const flaky = flow("flaky", { retries: 1 }, async () => {
    const answer = await waitForInput("?");
    tries += 1;
    log.info(`answer ${String(answer)}`);
    if (tries === 1) throw new Error("first");
    return answer;
  });
  const recording = await runFlow(flaky, {}, { answers: ["yes"] });
  t.equal(recording.result, "yes");
  t.match(recording.messages, ["answer yes", /^attempt 1 of 2 failed, .*Error: first/, "answer yes"]);
  t.equal(recording.messages.length, 3);
});

t.test("questions without words, and outside a run, are refused", async (t) => {
  t.throws(() => waitForInput("?"), /waitForInput\(\) is only available inside a run/);
  const recording = await runFlow(flow("wordless", () => waitForInput(" ")));
  t.match(recording.state, { type: "Failed", message: /needs a text to ask with/ });
});
