import assert from "node:assert/strict";
import test from "node:test";
import { runFlow } from "millrace/testing";
import { agent } from "../flows/agent.ts";

test("an order that a person allows is made", async () => {
  const { result } = await runFlow(agent, { wish: "green paint" }, { answers: [true] });
  assert.equal(result, 'done: order of order for "green paint"');
});

test("an order that a person refuses is not made", async () => {
  const { result } = await runFlow(agent, { wish: "green paint" }, { answers: [false] });
  assert.equal(result, "done: a person has refused this");
});
