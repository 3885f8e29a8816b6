import { join } from "node:path";
import t from "tap";
import { parseParameters, parseTarget } from "#cli/flow-target";
import { exitCodeOf } from "#cli/run";
import { stateFilter } from "#cli/runs";
import type { Run } from "#sdk/client/index";

t.test("a target is a file with a flow, a file, or a name", async (t) => {
  const dir = t.testdir({ "a.ts": "" });
  const path = join(dir, "a.ts");
  t.same(parseTarget(`${path}:daily`), { kind: "file", path, flow: "daily" });
  t.same(parseTarget(path), { kind: "file", path, flow: null });
  t.same(parseTarget("daily"), { kind: "name", project: null, flow: "daily" });
  t.same(parseTarget("shop/daily"), { kind: "name", project: "shop", flow: "daily" });
  t.throws(() => parseTarget(`${path}:`), { name: "CommandError", message: /names no flow/ });
  t.throws(() => parseTarget(join(dir, "b.ts:daily")), { message: /there is no file/ });
  t.throws(() => parseTarget("b.ts"), { message: /there is no file/ });
});

t.test("parameters are JSON where they look like it, text where the flow wants text", async (t) => {
  const schema = {
    properties: {
      day: { type: "string" },
      zip: { anyOf: [{ type: "string" }, { type: "null" }] },
      n: { type: "integer" },
    },
  };
  t.same(parseParameters(["day=2026", "zip=01234", "n=3", "list=[1, 2]", "on=true", "word=a=b", "empty="], schema), {
    day: "2026",
    zip: "01234",
    n: 3,
    list: [1, 2],
    on: true,
    word: "a=b",
    empty: "",
  });
  t.same(parseParameters(["n=3"], undefined), { n: 3 });
  t.throws(() => parseParameters(["novalue"], schema), { name: "CommandError", message: /"novalue" is not a parameter/ });
});

t.test("a state is a type in any case, or a sub-state", async (t) => {
  t.same(stateFilter("failed"), { state_type: "Failed" });
  t.same(stateFilter("AwaitingRetry"), { state_name: "AwaitingRetry" });
  t.same(stateFilter(undefined), {});
});

t.test("the exit code says how the run ended", async (t) => {
  const ended = (type: string, name = type) => ({ state: { type, name } }) as Run;
  t.equal(exitCodeOf(ended("Completed")), 0);
  t.equal(exitCodeOf(ended("Completed", "Cached")), 0);
  t.equal(exitCodeOf(ended("Failed", "TimedOut")), 1);
  t.equal(exitCodeOf(ended("Crashed")), 1);
  t.equal(exitCodeOf(ended("Completed", "Skipped")), 2);
  t.equal(exitCodeOf(ended("Cancelled")), 2);
});
