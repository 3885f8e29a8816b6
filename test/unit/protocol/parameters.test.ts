import t from "tap";
import { canonicalJson, parseJson, parseKeepingFractions } from "#protocol/values/json";
import { checkAnswer, checkParameters, parameterDefaults } from "#protocol/values/parameters";

const schemaOf = (property: unknown) => ({ type: "object", properties: { x: property } });
const accepts = (property: unknown, value: unknown) => checkParameters(schemaOf(property), { x: value }).ok;

t.test("each type takes its values and, for numbers and booleans, their text", async (t) => {
  const table: [string, unknown[], unknown[]][] = [
    ["string", ["", "a"], [1, null, true, [], {}]],
    [
      "integer",
      [0, -3, "7", "-7", "+7", "007", " 1 "],
      [1.5, true, null, "1.0", "", " ", "1 2", "1e3", "9223372036854775808", []],
    ],
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

t.test(
  "an answer that does not fit the schema of its question is told by its field; without a schema anything fits",
  async (t) => {
    const schema = {
      type: "object",
      properties: { send: { type: "boolean" }, copies: { type: "integer", default: 1 } },
      required: ["send", "copies"],
    };
    t.equal(checkAnswer(schema, {}), 'answer "send" is required');
    t.equal(checkAnswer(schema, { send: "perhaps" }), 'answer "send": expected boolean');
    t.equal(checkAnswer(schema, "yes"), "answer: expected object");
    t.equal(checkAnswer({ type: "integer" }, null), "answer: expected integer");
    t.equal(checkAnswer({ enum: ["a", "b"] }, "c"), 'answer: expected one of "a", "b"');
    t.equal(
      checkAnswer(schema, { send: "yes", other: 1 }),
      null,
      "as text, with a default left out, with a property that is not named",
    );
    t.equal(checkAnswer({ type: "integer" }, "7"), null);
    for (const none of [undefined, null, {}, true]) for (const answer of [null, 1, {}]) t.equal(checkAnswer(none, answer), null);
  },
);

t.test("below the first level the same rules hold, and a misfit is named by its path", async (t) => {
  const limits = {
    type: "object",
    properties: {
      rate: { type: "number" },
      mode: { enum: ["fast", "slow"] },
      days: { type: "integer", default: 3 },
      deep: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    },
    required: ["rate", "days"],
  };
  const errorOf = (property: unknown, x: unknown): string | null => {
    const checked = checkParameters(schemaOf(property), { x } as Record<string, unknown>);
    return checked.ok ? null : checked.error;
  };
  t.equal(errorOf(limits, { rate: "x" }), 'parameter "x.rate": expected number');
  t.equal(errorOf(limits, { mode: "fast" }), 'parameter "x.rate" is required');
  t.equal(errorOf(limits, { rate: 1, mode: "none" }), 'parameter "x.mode": expected one of "fast", "slow"');
  t.equal(errorOf(limits, { rate: 1, deep: {} }), 'parameter "x.deep.n" is required');
  t.equal(errorOf(limits, { rate: 1, deep: { n: 1.5 } }), 'parameter "x.deep.n": expected integer');
  t.equal(errorOf(limits, { rate: "2.5", mode: "slow", days: "4", deep: { n: "7" } }), null, "text as at the first level");
  t.equal(errorOf(limits, { rate: 1, other: 1 }), null, "JSON Schema lets further properties through");
  t.equal(errorOf({ ...limits, additionalProperties: false }, { rate: 1, other: 1 }), 'parameter "x.other" is not declared');
  t.match(errorOf({ anyOf: [limits, { type: "null" }] }, { rate: "x" }), /"x": expected object or null/);
  t.equal(errorOf({ anyOf: [limits, { type: "null" }] }, null), null);
  const fraction = parseKeepingFractions('{"x":{"rate":1,"deep":{"n":1.0}}}') as Record<string, unknown>;
  t.match(checkParameters(schemaOf(limits), fraction), { ok: false, error: /"x\.deep\.n": expected integer/ });
  const skipped = {
    type: "object",
    properties: { a: { type: "array", items: { type: "string" } }, b: { minimum: 5, format: "x" } },
  };
  t.equal(errorOf(skipped, { a: [1], b: 1 }), null, "keywords that are no rule of the server are passed over");
  t.equal(errorOf({ oneOf: [{ type: "string" }], allOf: [{ type: "string" }], not: {} }, 1), null);
});

t.test("references to a place in the same schema are followed, in circles too; others say nothing", async (t) => {
  const $defs = {
    "a/b": { type: "object", properties: { n: { type: "integer" }, next: { $ref: "#/$defs/a~1b" } }, required: ["n"] },
    circle: { $ref: "#/$defs/circle" },
    either: { anyOf: [{ $ref: "#/$defs/either" }, { $ref: "#/$defs/either" }] },
  };
  const withRef = ($ref: string) => ({ $defs, type: "object", properties: { x: { $ref, default: { n: 1 } } }, required: ["x"] });
  const check = ($ref: string, x: unknown) => checkParameters(withRef($ref), { x } as Record<string, unknown>);
  t.match(check("#/$defs/a~1b", { n: "no" }), { ok: false, error: 'parameter "x.n": expected integer' });
  t.match(check("#/$defs/a%7E1b", 5), { ok: false, error: 'parameter "x": expected object' });
  t.match(check("#/$defs/a~1b", { n: 1, next: { n: 2, next: {} } }), {
    ok: false,
    error: 'parameter "x.next.next.n" is required',
  });
  t.match(check("#/$defs/a~1b", { n: 1, next: { n: 2 } }), { ok: true });
  t.same(checkParameters(withRef("#/$defs/a~1b"), {}), { ok: true, parameters: { x: { n: 1 } } }, "its default is filled in");
  for (const other of [
    "#/$defs/none",
    "#/$defs/circle",
    "#/$defs/either",
    "https://example.org/x.json",
    "#name",
    "#/$defs/__proto__",
  ])
    t.match(check(other, 5), { ok: true }, other);
  const root = { $ref: "#/$defs/p", $defs: { p: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } } };
  t.match(checkParameters(root, { n: "x" }), { ok: false, error: /"n": expected integer/ });
  t.match(checkParameters(root, {}), { ok: false, error: /"n" is required/ });
});

t.test("a schema that multiplies its branches costs a bounded amount of work", async (t) => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, { anyOf: [next, next, next, { type: "string" }] }];
    }),
  );
  const schema = { $defs: { ...$defs, d40: { type: "string" } }, properties: { x: { $ref: "#/$defs/d0" } } };
  const startMs = performance.now();
  checkParameters(schema, { x: 5 });
  t.ok(performance.now() - startMs < 2_500);
  t.match(checkAnswer(schema, { x: 5 }), null, "what is not looked at is left to the flow");
});
