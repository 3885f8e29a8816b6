import t from "tap";
import { decodeValue, encodeValue, NotStorableError } from "#sdk/durable/values";

const again = (value: unknown) => decodeValue(encodeValue(value));

t.test("values come back as they were", async (t) => {
  const values: unknown[] = [
    ...[null, true, "", "text", 0, -1.5, 1e300, [], {}, [[1], { a: [2] }]],
    ...[undefined, [undefined], { a: undefined }, 12n, -(2n ** 80n)],
    ...[new Date(0), new Map<unknown, unknown>([[{ k: 1 }, new Set([1, "a"])]]), new Set()],
    ...[new Uint8Array([1, 2, 255]), new Float64Array([0.1, -0]), new BigInt64Array([-1n]), Buffer.from("ü")],
    ...[{ $: "date", v: "1970" }, { a: { $: 1 } }, { "": 1, "a.b": 2 }],
  ];
  for (const value of values) t.strictSame(again(value), value);
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0]) t.ok(Object.is(again(value), value));
  t.ok(Number.isNaN((again(new Date(Number.NaN)) as Date).getTime()));
  t.strictSame(new Uint8Array(again(new Uint8Array([7, 8]).buffer) as ArrayBuffer), new Uint8Array([7, 8]));
});

t.test("typed arrays over a part of a buffer are stored as that part", async (t) => {
  t.strictSame(again(new Uint16Array(new Uint16Array([1, 2, 3]).buffer, 2, 1)), new Uint16Array([2]));
});

t.test("errors keep their class or name, message, stack, cause and what of their properties can be stored", async (t) => {
  const cause = new TypeError("inner");
  const error = Object.assign(new RangeError("outer", { cause }), { code: "E1", socket: () => 1 });
  const copy = again(error) as RangeError & { code: string; socket?: unknown };
  t.ok(copy instanceof RangeError);
  t.equal(copy.message, "outer");
  t.equal(copy.stack, error.stack);
  t.equal(copy.code, "E1");
  t.notOk("socket" in copy);
  t.ok(copy.cause instanceof TypeError);
  class PaymentError extends Error {}
  const own = again(new PaymentError("declined")) as Error;
  t.equal(own.name, "PaymentError");
  t.ok(own instanceof Error);
});

t.test("what cannot be stored is named by its path", async (t) => {
  class Order {}
  const around: unknown[] = [];
  around.push(around);
  const cases: [unknown, string][] = [
    [() => 1, "the result is a function"],
    [{ order: { lines: [{ call: () => 1 }] } }, "the result.order.lines[0].call is a function"],
    [[Symbol("s")], "the result[0] is a symbol"],
    [{ a: new Order() }, "the result.a is an instance of Order"],
    [new Map([["k", new Order()]]), "the result, value 1 of the Map, is an instance of Order"],
    [around, "the result[0] is an object around itself"],
  ];
  for (const [value, message] of cases)
    t.throws(
      () => encodeValue(value),
      new NotStorableError(message.split(" is a")[0] ?? "", message.slice(message.indexOf(" is a") + 4)),
    );
  const twice = { a: 1 };
  t.strictSame(again([twice, twice]), [twice, twice], "an object in two places is stored twice");
});

t.test("sorted texts are equal for equal values", async (t) => {
  const text = (value: unknown) => encodeValue(value, { sorted: true });
  t.equal(text({ a: 1, b: { d: 1, c: 2 } }), text({ b: { c: 2, d: 1 }, a: 1 }));
  t.equal(text(new Set(["b", "a"])), text(new Set(["a", "b"])));
  t.equal(
    text(
      new Map([
        ["b", 1],
        ["a", 2],
      ]),
    ),
    text(
      new Map([
        ["a", 2],
        ["b", 1],
      ]),
    ),
  );
  t.not(text([1, 2]), text([2, 1]));
  t.not(text({ a: undefined }), text({}));
  t.not(text("1"), text(1));
});
