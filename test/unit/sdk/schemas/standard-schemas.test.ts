/** Parameters by schemas of zod, valibot and arktype: types, JSON Schema for the server and forms, and checks of values. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import * as z from "zod";
import { checkParameters } from "#protocol/values/parameters";
import { definitionOf } from "#sdk/define/flow";
import { flow } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";
import { arkFlow, convertedFlow, none, turned, valibotFlow, zodFlow } from "./flows.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const FLOWS = { zod: zodFlow, valibot: valibotFlow, "valibot with a converter": convertedFlow, arktype: arkFlow };

t.test("types are inferred for functions and calls", async (t) => {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", HERE], { encoding: "utf8" });
  t.equal(status, 0, stdout);
});

for (const [library, each] of Object.entries(FLOWS)) {
  t.test(`${library}: the server gets JSON Schema and checks by it`, async (t) => {
    const schema = definitionOf(each)?.schema ?? {};
    t.match(schema, { type: "object", properties: { day: { type: "string" }, count: { type: "integer" } } });
    // The JSON Schema that arktype makes of what a schema takes has no defaults: the library fills them in when the run starts.
    const filled = library === "arktype" ? {} : { count: 2 };
    t.same(schema["required"], ["day"]);
    t.match(checkParameters(schema, { day: "2026-01-01" }), {
      ok: true,
      parameters: { day: "2026-01-01", ...filled },
    });
    t.match(checkParameters(schema, { day: "2026-01-01", count: "x" }), { ok: false, error: /"count": expected integer/ });
    t.match(checkParameters(schema, {}), { ok: false, error: /"day" is required/ });
  });

  t.test(`${library}: values are checked by the library, texts of forms are read, defaults are filled in`, async (t) => {
    const run = runFlow as unknown as (flow: unknown, given: object) => Promise<{ result: unknown; state: { message: string } }>;
    t.same((await run(each, { day: "2026-01-01" })).result, { day: "2026-01-01", count: 2 });
    t.same((await run(each, { day: "2026-01-01", count: "7" })).result, { day: "2026-01-01", count: 7 });
    for (const [given, message] of [
      [{ day: "no day" }, /^ParameterError: day: ./],
      [{ day: "2026-01-01", count: 1.5 }, /^ParameterError: count: ./],
      [{ day: "2026-01-01", dya: 1 }, /^ParameterError: parameter "dya" is not declared; the flow takes day, /],
    ] as const)
      t.match((await run(each, given)).state, { type: "Failed", message });
  });
}

t.test("the function gets what the schema makes of the values", async (t) => {
  t.equal((await runFlow(turned, { at: "four" })).result, 4);
  t.equal((await runFlow(none)).result, 1);
});

t.test("a check may be asynchronous", async (t) => {
  const parameters = z.object({ n: z.number().refine(async (n) => n > 1, "is too small") });
  const checked = flow("checked", { parameters }, ({ n }) => n);
  t.equal((await runFlow(checked, { n: 2 })).result, 2);
  t.match((await runFlow(checked, { n: 1 })).state, { message: "ParameterError: n: is too small" });
});

t.test("what JSON has not, and what is no object, is refused where the flow is declared", async (t) => {
  t.throws(
    () => flow("dated", { parameters: z.object({ at: z.date() }) }, () => 1),
    /parameters of flow "dated": .*zod.*[Dd]ate/,
  );
  t.throws(() => flow("text", { parameters: z.string() }, () => 1), /describes an object/);
});
