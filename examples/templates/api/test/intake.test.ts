import assert from "node:assert/strict";
import test from "node:test";
import { runFlow } from "millrace/testing";
import { ingest } from "../flows/intake.ts";

test("the rows are added up", async () => {
  const { result } = await runFlow(ingest, { rows: [3, 4] });
  assert.equal(result, 7);
});
