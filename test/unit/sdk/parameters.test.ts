import * as legacy from "@sinclair/typebox";
import t from "tap";
import { flow } from "#sdk/define/flow";
import { ParameterChecker, ParameterError, plainSchema } from "#sdk/define/parameters";
import { Type } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

const checkerOf = (schema?: object) => new ParameterChecker(plainSchema(schema));

t.test("defaults are filled in, also inside nested objects", async (t) => {
  const checker = checkerOf(
    Type.Object({
      day: Type.String({ format: "date", default: "2026-01-01" }),
      place: Type.Object({ city: Type.String({ default: "Bonn" }) }),
    }),
  );
  t.same(await checker.prepare({ place: {} }), { day: "2026-01-01", place: { city: "Bonn" } });
});

t.test("text becomes a number or a boolean where the schema wants one", async (t) => {
  const checker = checkerOf(
    Type.Object({
      count: Type.Optional(Type.Integer()),
      share: Type.Optional(Type.Number()),
      dry: Type.Optional(Type.Boolean()),
      label: Type.Optional(Type.String()),
      limit: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    }),
  );
  t.same(await checker.prepare({ count: "7", share: "0.5", dry: "Yes", label: "7", limit: "3" }), {
    count: 7,
    share: 0.5,
    dry: true,
    label: "7",
    limit: 3,
  });
  for (const wrong of [{ count: "1.0" }, { count: "x" }, { count: true }, { share: "" }, { dry: "maybe" }, { dry: 1 }]) {
    await t.rejects(checker.prepare(wrong), ParameterError, JSON.stringify(wrong));
  }
});

t.test("errors name the parameter", async (t) => {
  const checker = checkerOf(
    Type.Object({ day: Type.String({ format: "date" }), n: Type.Optional(Type.Integer({ minimum: 1 })) }),
  );
  await t.rejects(checker.prepare({ day: "soon" }), /day: must match format "date"/);
  await t.rejects(checker.prepare({ day: "2026-01-01", n: 0 }), /n: must be >= 1/);
  await t.rejects(checker.prepare({}), /day/);
  await t.rejects(checker.prepare({ day: "2026-01-01", extra: 1 }), /parameter "extra" is not declared; the flow takes day, n$/);
});

t.test("a flow without a schema takes no parameters", async (t) => {
  t.same(await checkerOf().prepare({}), {});
  await t.rejects(checkerOf().prepare({ a: 1 }), /parameter "a" is not declared; the flow takes no parameters$/);
});

t.test("a schema that describes no object is refused", async (t) => {
  t.throws(() => plainSchema(Type.String()), TypeError);
});

t.test("schemas of @sinclair/typebox and plain JSON Schema are accepted as they are", async (t) => {
  const built = legacy.Type.Object({
    n: legacy.Type.Integer({ minimum: 1 }),
    mode: legacy.Type.Union([legacy.Type.Literal("fast"), legacy.Type.Literal("slow")], { default: "slow" }),
  });
  const plain = {
    type: "object",
    properties: { n: { type: "integer", minimum: 1 }, mode: { enum: ["fast", "slow"], default: "slow" } },
    required: ["n"],
    additionalProperties: false,
    $defs: { unused: { type: "string" } },
  } as const;
  for (const schema of [built, plain]) {
    const checker = checkerOf(schema);
    t.same(await checker.prepare({ n: "2" }), { n: 2, mode: "slow" });
    await t.rejects(checker.prepare({ n: 0 }), /n: must be >= 1/);
    await t.rejects(checker.prepare({ n: 1, mode: "other" }), /mode/);
    await t.rejects(checker.prepare({ n: 1, other: 1 }), ParameterError);
  }
  const typed = flow("typed", { parameters: built }, async ({ n, mode }) => `${mode.toUpperCase()} ${n.toFixed(0)}`);
  t.equal((await runFlow(typed, { n: 3 })).result, "SLOW 3");
});

t.test("text inside objects and lists becomes a number or a boolean too", async (t) => {
  const limits = Type.Object({ rate: Type.Number(), strict: Type.Optional(Type.Boolean()) });
  const checker = checkerOf(Type.Object({ limits, days: Type.Array(Type.Integer()) }));
  t.same(await checker.prepare({ limits: { rate: "0.5", strict: "no" }, days: ["1", 2] }), {
    limits: { rate: 0.5, strict: false },
    days: [1, 2],
  });
  await t.rejects(checker.prepare({ limits: { rate: "x" }, days: [] }), /limits\.rate: must be number/);
});
