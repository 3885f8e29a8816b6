/** Runs of their own, started by flow.start, startMany and runAndWait, as a test of a flow sees them. */
import t from "tap";
import { flow, RunError, run, sleep, Type } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const greeting = flow("greeting", { parameters: Type.Object({ name: Type.String() }) }, async ({ name }) => `Hello, ${name}`);
const failing = flow("failing", () => {
  throw new Error("no");
});

t.test("a flow starts runs of other flows, and waits for their results", async (t) => {
  const caller = flow("caller", async () => {
    const one = await greeting.start({ name: "Ada" }, { tags: ["vip"] });
    const many = await greeting.startMany([{ name: "Bob" }, { name: "Cy" }]);
    return [
      await greeting.runAndWait({ name: "Di" }),
      await one.result(),
      ...(await Promise.all(many.map((each) => each.result()))),
    ];
  });
  const recorded = await runFlow(caller);
  t.same(recorded.result, ["Hello, Di", "Hello, Ada", "Hello, Bob", "Hello, Cy"]);
  t.same(
    recorded.started.map(({ flow, parameters, tags }) => [flow, parameters["name"], tags]),
    [
      ["greeting", "Ada", ["vip"]],
      ["greeting", "Bob", []],
      ["greeting", "Cy", []],
      ["greeting", "Di", []],
    ],
  );
  const given = await runFlow(caller, {}, { children: { greeting: ({ name }: { name: string }) => name } });
  t.same(given.result, ["Di", "Ada", "Bob", "Cy"], "a test gives the results");
});

t.test("parameters are checked before anything is started, and a run that fails is an error of its caller", async (t) => {
  const wrong = flow("wrong", () => greeting.start({ name: 1 as never }));
  const refused = await runFlow(wrong);
  t.match(refused.state, { type: "Failed", message: /^ParameterError: name/ });
  t.same(refused.started, []);
  const waits = flow("waits", async () => await failing.runAndWait().catch((error: unknown) => (error as RunError).name));
  t.equal((await runFlow(waits)).result, RunError.name);
});

t.test("in a durable flow they are children, which are started once", async (t) => {
  let begun = 0;
  const durable = flow("durable", { durable: true }, async () => {
    begun += 1;
    const started = await greeting.start({ name: "Ada" });
    await sleep("1h");
    return [await started.result(), await greeting.runAndWait({ name: "Bob" }), run.id];
  });
  const recorded = await runFlow(durable);
  t.same(recorded.result, ["Hello, Ada", "Hello, Bob", 1]);
  t.ok(begun > 1, "the function began again");
  t.equal(recorded.children.length, 2);
  t.same(recorded.started, []);
});
