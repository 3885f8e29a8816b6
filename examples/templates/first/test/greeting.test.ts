import assert from "node:assert/strict";
import test from "node:test";
import { runFlow } from "millrace/testing";
import { greeting } from "../flows/greeting.ts";

test("the greeting has the name", async () => {
  const { result, state } = await runFlow(greeting, { name: "Ada" });
  assert.equal(state.type, "Completed");
  assert.equal(result, "Hello, Ada");
});
