import { Type as OldType } from "@sinclair/typebox";
import t from "tap";
import NewType from "typebox";
import { checkParameters } from "#protocol/values/parameters";

/** The same parameters, declared with each library and by hand. */
const schemas: Record<string, object> = {
  "typebox 1": NewType.Object({
    city: NewType.String(),
    days: NewType.Integer({ default: 3 }),
    unit: NewType.Union([NewType.Literal("C"), NewType.Literal("F")]),
    limit: NewType.Optional(NewType.Union([NewType.Number(), NewType.Null()])),
    dry: NewType.Optional(NewType.Boolean()),
    tags: NewType.Optional(NewType.Array(NewType.String())),
    extra: NewType.Optional(NewType.Record(NewType.String(), NewType.Unknown())),
  }),
  "@sinclair/typebox 0.34": OldType.Object({
    city: OldType.String(),
    days: OldType.Integer({ default: 3 }),
    unit: OldType.Union([OldType.Literal("C"), OldType.Literal("F")]),
    limit: OldType.Optional(OldType.Union([OldType.Number(), OldType.Null()])),
    dry: OldType.Optional(OldType.Boolean()),
    tags: OldType.Optional(OldType.Array(OldType.String())),
    extra: OldType.Optional(OldType.Record(OldType.String(), OldType.Unknown())),
  }),
  "JSON Schema": {
    type: "object",
    required: ["city", "unit"],
    properties: {
      city: { type: "string" },
      days: { type: "integer", default: 3 },
      unit: { enum: ["C", "F"] },
      limit: { anyOf: [{ type: "number" }, { type: "null" }] },
      dry: { type: "boolean" },
      tags: { type: "array", items: { type: "string" } },
      extra: { type: "object" },
    },
  },
};

for (const [library, built] of Object.entries(schemas)) {
  // A schema reaches the server as JSON.
  const schema = JSON.parse(JSON.stringify(built)) as Record<string, unknown>;

  t.test(`parameters declared with ${library}`, async (t) => {
    const full = { city: "Rome", days: "2", unit: "F", limit: null, dry: "yes", tags: ["a"], extra: { b: 1 } };
    t.same(checkParameters(schema, full), { ok: true, parameters: full });
    t.same(checkParameters(schema, { city: "Rome", unit: "C" }), { ok: true, parameters: { city: "Rome", unit: "C", days: 3 } });
    const refused: [object, string][] = [
      [{ unit: "C" }, "city"],
      [{ city: "Rome" }, "unit"],
      [{ city: 1, unit: "C" }, "city"],
      [{ city: "Rome", unit: "K" }, "unit"],
      [{ city: "Rome", unit: "C", days: 2.5 }, "days"],
      [{ city: "Rome", unit: "C", limit: true }, "limit"],
      [{ city: "Rome", unit: "C", tags: {} }, "tags"],
      [{ city: "Rome", unit: "C", extra: [] }, "extra"],
      [{ city: "Rome", unit: "C", other: 1 }, "other"],
    ];
    for (const [sent, name] of refused) {
      const checked = checkParameters(schema, sent as Record<string, unknown>);
      t.match(checked, { ok: false, error: new RegExp(`"${name}"`) }, JSON.stringify(sent));
    }
  });

  t.test(`the object itself, as code holds it before registering, declared with ${library}`, async (t) => {
    const checked = checkParameters(built as Record<string, unknown>, { city: "Rome", unit: "C" });
    t.same(checked, { ok: true, parameters: { city: "Rome", unit: "C", days: 3 } });
  });
}
