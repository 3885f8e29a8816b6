import t from "tap";
import { REFUSALS, refuse, refuseResume, refuseTransition } from "#protocol/errors";
import type { State } from "#protocol/records/state";

const current: State = { type: "Completed", name: "Skipped", timestamp: 5, message: null, details: {} };

t.test("every row has an error status and its own words", async (t) => {
  for (const [code, { status }] of Object.entries(REFUSALS)) t.ok(status >= 400 && status < 600, code);
});

t.test("a refusal is a value with status, words and body", async (t) => {
  const refusal = refuse("run_not_found", 7);
  t.equal(refusal.status, 404);
  t.equal(refusal.code, "run_not_found");
  t.equal(refusal.body(), '{"error":"run 7 not found"}');
});

t.test("a refused move carries reason and current state, in that order", async (t) => {
  const refusal = refuseTransition("terminal", "Running", current);
  t.equal(refusal.status, 409);
  t.same(Object.keys(JSON.parse(refusal.body())), ["error", "reason", "current"]);
  t.match(JSON.parse(refusal.body()), { reason: "terminal", current });
  t.equal(JSON.parse(refuseTransition("invalid-entry", "Running", null).body()).current, null);
});

t.test("an answer to a run that waits for none", async (t) => {
  t.same(JSON.parse(refuseResume(current).body()), { error: "run is Skipped, not Paused", current });
});
