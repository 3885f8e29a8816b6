import fc from "fast-check";
import t from "tap";
import { BODY_BYTES_MAX, JSON_NEW_KEY_VALUES, JSON_VALUES_MAX, NUMBER_LENGTH_MAX } from "#protocol/limits";
import {
  canonicalJson,
  canonicalPart,
  copyPart,
  hasExactIntegers,
  isExactInteger,
  isWholeFraction,
  mergeParts,
  parseJson,
  parseKeepingFractions,
  prettyJson,
  roundIntegers,
  toTransferable,
} from "#protocol/values/json";
import { SENT_JSON } from "#protocol/values/json-scan";

t.test("integers beyond 2^53 keep their digits, at any depth", async (t) => {
  for (const text of ["9007199254740993", "-9007199254740993", "18446744073709551615", "123456789012345678901234567890"]) {
    const source = `{"a":[${text},{"b":${text}}],"c":1}`;
    const value = parseJson(source);
    t.equal(JSON.stringify(value), source);
    t.equal(canonicalJson(value), source);
    t.ok(hasExactIntegers(value));
  }
});

t.test("other numbers and texts with many digits stay what they are", async (t) => {
  const source =
    '{"time":1763679000000000,"max":9007199254740991,"text":"9007199254740993","fraction":0.30000000000000004,"e":1e21}';
  const value = parseJson(source);
  t.notOk(hasExactIntegers(value));
  t.same(value, JSON.parse(source));
});

t.test("malformed text throws the same error as JSON.parse", async (t) => {
  t.throws(() => parseJson('{"a":'), SyntaxError);
  t.throws(() => parseJson('{"a":9007199254740993'), SyntaxError);
});

t.test("nesting is limited, counted without the brackets inside strings", async (t) => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  t.ok(Array.isArray(parseJson(nested(128))));
  t.throws(() => parseJson(nested(129)), SyntaxError);
  t.throws(() => parseJson(nested(4_000_000)), SyntaxError);
  t.throws(() => parseJson(`${'["]",'.repeat(200)}1${"]".repeat(200)}`), SyntaxError);
  t.throws(() => parseJson(`${'{"\\\\":'.repeat(200)}1${"}".repeat(200)}`), SyntaxError);
  const flat = JSON.stringify(Array.from({ length: 300 }, (_, index) => ({ text: `[[{"\\${"[".repeat(index)}` })));
  t.same(parseJson(flat), JSON.parse(flat));
});

t.test("the depth scan never refuses or changes what JSON.parse accepts", async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.boolean(), (value, spaced) => {
      const text = JSON.stringify(value, null, spaced ? 2 : 0);
      return JSON.stringify(parseJson(text)) === JSON.stringify(JSON.parse(text));
    }),
  );
});

t.test("numbers written like 2.0 are numbers once parsed, and are written back in the same form", async (t) => {
  const value = parseKeepingFractions('{"b":2.0,"a":[1.00,1,"3.0",{"c":-0.0}],"d":1.5}') as { b: unknown };
  t.equal(value.b, 2);
  t.equal(canonicalJson(value), '{"a":[1.00,1,"3.0",{"c":-0.0}],"b":2.0,"d":1.5}');
  t.equal(canonicalJson(parseJson('{"b":2.0}')), '{"b":2}');
  t.equal(
    canonicalJson(parseKeepingFractions('{"a":2e3,"b":1.5E1,"c":"1e3","d":0.5e0}')),
    '{"a":2e3,"b":1.5E1,"c":"1e3","d":0.5}',
  );
  value.b = 3;
  t.match(canonicalJson(value), /"b":3,/, "another number is written as itself");
  value.b = "changed";
  t.match(canonicalJson(value), /"b":"changed"/);
});

t.test("a number in a merged object is written as in the object it comes from", async (t) => {
  const one = parseKeepingFractions('{"a":1.0,"b":2.0,"__proto__":3.0}') as Record<string, unknown>;
  const two = parseKeepingFractions('{"b":2,"c":4e0}') as Record<string, unknown>;
  const merged = mergeParts(one, two);
  t.equal(canonicalJson(merged), '{"__proto__":3.0,"a":1.0,"b":2,"c":4e0}');
  t.same([isWholeFraction(merged, "a"), isWholeFraction(merged, "b")], [true, false]);
  t.equal(canonicalJson(mergeParts(merged, { a: "text" })), '{"__proto__":3.0,"a":"text","b":2,"c":4e0}');
  t.equal(canonicalJson(one), '{"__proto__":3.0,"a":1.0,"b":2.0}', "the merged objects stay as they are");
  copyPart(two, "b", merged, "a");
  copyPart(one, "b", merged, "d");
  t.equal(canonicalJson(merged), '{"__proto__":3.0,"a":2,"b":2,"c":4e0,"d":2.0}');
  t.same([canonicalPart(one, "b"), canonicalPart(two, "b"), canonicalPart(one, "none")], ["2.0", "2", "null"]);
});

t.test("exact integers survive a structured clone as bigints", async (t) => {
  const source = '{"a":[9007199254740993],"b":"x"}';
  const value = parseJson(source);
  t.equal(canonicalJson(structuredClone(toTransferable(value))), source);
  const plain = { a: 1 };
  t.equal(toTransferable(plain), plain);
});

t.test("rounding replaces exact integers for checks", async (t) => {
  const value = parseJson('{"a":9007199254740993,"b":[true]}') as { a: unknown };
  t.ok(isExactInteger(value.a));
  const rounded = roundIntegers(value) as { a: unknown; b: unknown };
  t.equal(rounded.a, 9007199254740992);
  t.same(rounded.b, [true]);
});

t.test("canonical text sorts keys of every object and keeps a key named __proto__", async (t) => {
  t.equal(canonicalJson({ b: 1, a: { d: [{ z: 1, y: 2 }], c: null } }), '{"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}');
  t.equal(canonicalJson(parseJson('{"z":1,"__proto__":{"b":1,"a":2}}')), '{"__proto__":{"a":2,"b":1},"z":1}');
});

t.test("canonical text depends on the value alone", async () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      return canonicalJson(parseJson(text)) === text && canonicalJson(reversed(value)) === text;
    }),
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, part]) => [key, reversed(part)]));
}

t.test("texts that a client sent are refused beyond a limit before they cost anything", async (t) => {
  const sent = (text: string) => parseJson(text, SENT_JSON);
  t.throws(() => sent(`[${"1,".repeat(JSON_VALUES_MAX)}1]`), { message: /more than 200000 values/ });
  t.throws(() => sent(`{${'"a":"b",'.repeat(JSON_VALUES_MAX / 2)}"a":1}`), { message: /more than 200000 values/ });
  const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":1`).join(",")}}`;
  const keysMax = Math.floor(JSON_VALUES_MAX / (JSON_NEW_KEY_VALUES + 1)) - 1;
  t.throws(() => sent(keys(keysMax + 2)), { message: /each different key counts as 5/ });
  t.equal(Object.keys(sent(keys(keysMax)) as object).length, keysMax);
  const small = (key: (index: number) => string) => {
    const objects = Array.from({ length: JSON_VALUES_MAX / 5 }, (_, index) => `{ "${key(index)}" :1}`);
    return `[${objects.join(",")}]`;
  };
  t.throws(() => sent(small((index) => `key${index}`)), { message: /each different key/ }, "in many objects as in one");
  t.equal((sent(small(() => "key")) as unknown[]).length, JSON_VALUES_MAX / 5, "a key that returns counts once");
  t.throws(() => sent(`[${":".repeat(BODY_BYTES_MAX)}`), SyntaxError);
  t.equal((sent(`[${"1,".repeat(JSON_VALUES_MAX - 3)}1]`) as unknown[]).length, JSON_VALUES_MAX - 2);
  t.throws(() => sent(`{"a":${"1".repeat(NUMBER_LENGTH_MAX + 1)}}`), { message: /longer than 1000 characters/ });
  t.throws(() => sent(`{"a":1.${"0".repeat(NUMBER_LENGTH_MAX)}}`), { message: /longer than 1000 characters/ });
  t.equal(canonicalJson(sent(`[${"1".repeat(NUMBER_LENGTH_MAX)}]`)), `[${"1".repeat(NUMBER_LENGTH_MAX)}]`);
  const stored = `[${"1".repeat(NUMBER_LENGTH_MAX + 1)}${",1".repeat(JSON_VALUES_MAX)}]`;
  t.equal(canonicalJson(parseJson(stored)), stored, "what was stored before the limits is read all the same");
});

t.test("a number beyond the range of doubles is refused instead of becoming null", async (t) => {
  for (const text of ["1e400", "-1E+309", "1.5e999"])
    t.throws(() => parseJson(`{"a":${text}}`, SENT_JSON), { message: /beyond 1.79/ });
  t.same(parseJson('{"a":1e308,"b":1e-400,"c":"1e400"}', SENT_JSON), { a: 1e308, b: 0, c: "1e400" });
});

t.test("malformed numbers are refused as JSON.parse refuses them", async (t) => {
  const long = "92345678901234567";
  for (const text of [
    `0${long}`,
    `${long}.`,
    `[${long} 1.0]`,
    `{${long}:1.0}`,
    `{"a":1,2.0:3}`,
    `1.0"a"`,
    `--${long}`,
    "[2.]",
    "[1.0e]",
  ]) {
    t.throws(() => JSON.parse(text), SyntaxError);
    t.throws(() => parseKeepingFractions(text), SyntaxError, text);
  }
});

t.test("keeping numbers changes nothing else of what JSON.parse reads", async (t) => {
  const number = fc.constantFrom("92345678901234567", "2.0", "-0.0", "1e3", "1.5", "7", "1763679000000000");
  const key = fc.constantFrom("__proto__", "a", "1", "92345678901234567", "2.0");
  const { text } = fc.letrec<{ text: string }>((tie) => ({
    text: fc.oneof(
      { depthSize: "small" },
      number,
      fc.string().map((each) => JSON.stringify(each)),
      fc.array(tie("text")).map((parts) => `[${parts.join(" ,")}]`),
      fc.array(fc.tuple(key, tie("text"))).map((parts) => `{${parts.map(([name, part]) => `"${name}": ${part}`).join(",")}}`),
    ),
  }));
  fc.assert(
    fc.property(text, (source) => {
      t.same(roundIntegers(parseKeepingFractions(source)), roundIntegers(JSON.parse(source)));
      const again = canonicalJson(parseKeepingFractions(source));
      return (
        canonicalJson(parseKeepingFractions(again)) === again &&
        prettyJson(JSON.parse(source)) === JSON.stringify(JSON.parse(canonicalJson(JSON.parse(source))), null, 2)
      );
    }),
  );
});
