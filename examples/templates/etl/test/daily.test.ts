import assert from "node:assert/strict";
import test from "node:test";
import { runFlow } from "millrace/testing";
import { daily } from "../flows/daily.ts";

test("each place has a row", async () => {
  const { result, state } = await runFlow(daily, { places: ["Oslo", "Rome", "Lima"] });
  assert.equal(state.type, "Completed");
  assert.equal(result, 3);
});
