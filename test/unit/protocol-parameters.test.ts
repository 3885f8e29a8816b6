import t from "tap";
import { canonicalJson, parseJson, parseKeepingFractions } from "#protocol/json";
import { checkParameters, parameterDefaults } from "#protocol/parameters";

const schemaOf = (property: unknown) => ({ type: "object", properties: { x: property } });
const accepts = (property: unknown, value: unknown) => checkParameters(schemaOf(property), { x: value }).ok;

t.test("each type takes its values and, for numbers and booleans, their text", async (t) => {
  const table: [string, unknown[], unknown[]][] = [
    ["string", ["", "a"], [1, null, true, [], {}]],
    ["integer", [0, -3, "7", "-7", "+7", "007"], [1.5, true, null, "1.0", "", " 1", "1e3", "9223372036854775808", []]],
    ["number", [1, 1.5, "1.5", "-1e3", ".5", "5.", "inf"], [true, null, "", "x", "1,5", {}]],
    ["boolean", [true, false, "true", "FALSE", "1", "0", "Yes", "no"], [1, 0, null, "on", ""]],
    ["array", [[], [1]], [{}, "[]", null]],
    ["object", [{}, { a: 1 }], [[], "{}", null]],
    ["null", [null], [0, "", false, "null"]],
  ];
  for (const [type, good, bad] of table) {
    for (const value of good) t.ok(accepts({ type }, value), `${type} takes ${JSON.stringify(value)}`);
    for (const value of bad) t.notOk(accepts({ type }, value), `${type} refuses ${JSON.stringify(value)}`);
  }
});

t.test("integers beyond 2^53 are integers within 64 bits, and not objects", async (t) => {
  const value = (text: string) => (parseJson(`[${text}]`) as unknown[])[0];
  t.ok(accepts({ type: "integer" }, value("9007199254740993")));
  t.ok(accepts({ type: "integer" }, value("18446744073709551615")));
  t.notOk(accepts({ type: "integer" }, value("18446744073709551616")));
  t.ok(accepts({ type: "number" }, value("18446744073709551616")));
  t.notOk(accepts({ type: "object" }, value("9007199254740993")));
});

t.test("anyOf takes any branch, enum and const only equal values; what else a schema says is not checked", async (t) => {
  const optionalInteger = { anyOf: [{ type: "integer" }, { type: "null" }] };
  t.ok(accepts(optionalInteger, null));
  t.ok(accepts(optionalInteger, "4"));
  t.notOk(accepts(optionalInteger, "x"));
  t.ok(accepts({ enum: ["a", 1, { b: 2, c: 3 }] }, { c: 3, b: 2 }));
  t.notOk(accepts({ enum: ["a", 1] }, "1"));
  t.notOk(accepts({ const: "a", type: "string" }, "b"));
  t.ok(accepts({ type: "string", format: "date", pattern: "^x", minLength: 9 }, "a"));
  t.ok(accepts({ type: ["string", "null"] }, 5));
  t.ok(accepts({ type: "array", items: { type: "string" } }, [1]));
  t.ok(accepts({}, 1));
  t.ok(accepts({ $ref: "#/$defs/a" }, 1));
});

t.test("required, undeclared and wrong parameters are named", async (t) => {
  const schema = { properties: { day: { type: "string" }, n: { type: "integer" } }, required: ["day"] };
  t.match(checkParameters(schema, {}), { ok: false, error: /"day" is required/ });
  t.match(checkParameters(schema, { day: "d", other: 1 }), { ok: false, error: /"other" is not declared.*day, n/ });
  t.match(checkParameters(schema, { day: 3 }), { ok: false, error: /"day": expected string/ });
  t.match(checkParameters(schema, { day: "d", toString: 1 }), { ok: false, error: /"toString" is not declared/ });
  t.match(checkParameters({}, { a: 1 }), { ok: false, error: /takes no parameters/ });
  t.match(checkParameters(null, { a: 1 }), { ok: false });
  t.same(checkParameters(null, {}), { ok: true, parameters: {} });
});

t.test("defaults are filled, values stay as they were sent", async (t) => {
  const schema = {
    properties: { n: { type: "integer", default: 5 }, m: { type: "integer" }, z: { default: null } },
    required: ["m", "n"],
  };
  t.same(checkParameters(schema, { m: "7" }), { ok: true, parameters: { n: 5, z: null, m: "7" } });
  t.same(checkParameters(schema, { m: 1, n: 2 }), { ok: true, parameters: { n: 2, z: null, m: 1 } });
  t.same(parameterDefaults(schema), { n: 5, z: null });
});

t.test("a number written like 1.0 is no integer, and is passed on as it was written", async (t) => {
  const sent = parseKeepingFractions('{"x":1.0}') as Record<string, unknown>;
  t.match(checkParameters(schemaOf({ type: "integer" }), sent), { ok: false, error: /"x": expected integer/ });
  t.notOk(checkParameters(schemaOf({ anyOf: [{ type: "integer" }, { type: "null" }] }), sent).ok);
  const checked = checkParameters(schemaOf({ type: "number" }), sent);
  t.equal(checked.ok && canonicalJson(checked.parameters), '{"x":1.0}');
});
