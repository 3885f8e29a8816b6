import t from "tap";
import { flow, log, variable } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

/** The messages of a run that logs with these fields. */
async function messageOf(fields: Readonly<Record<string, unknown>>, ...values: unknown[]): Promise<string | undefined> {
  const recording = await runFlow(flow("fields", () => log.with(fields).info(...values)));
  t.equal(recording.state.name, "Completed");
  return recording.logs[0]?.message;
}

t.test("fields follow the message as key=value, after its placeholders", async (t) => {
  const fields = { day: "2026-01-01", rows: 24, ok: true, none: null };
  t.equal(await messageOf(fields, "%s done", "load"), "load done day=2026-01-01 rows=24 ok=true none=null");
  t.equal(await messageOf({ rows: 1 }, "100% and %d"), "100% and %d rows=1", "fields fill no placeholder");
  t.equal(await messageOf({}, "plain"), "plain");
});

t.test("values that would be read wrongly are quoted", async (t) => {
  const fields = {
    empty: "",
    words: "two words",
    quote: 'a"b',
    equal: "a=b",
    lines: "a\nb",
    "a key=": 1,
    "": 2,
    left: undefined,
  };
  t.equal(
    await messageOf(fields, "x"),
    String.raw`x empty="" words="two words" quote="a\"b" equal="a=b" lines="a\nb" a_key_=1 _=2`,
  );
});

t.test("objects are JSON, and no value makes a log line throw", async (t) => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const fields = {
    list: [1, "a"],
    at: new Date(0),
    error: new TypeError("no"),
    big: 9n,
    deep: { n: 9n },
    circular,
    f: Symbol("s"),
  };
  t.equal(
    await messageOf(fields, "x"),
    String.raw`x list="[1,\"a\"]" at=1970-01-01T00:00:00.000Z error="TypeError: no" big=9 deep="{\"n\":\"9\"}" circular="[not JSON]" f=Symbol(s)`,
  );
});

t.test("a log with fields adds to those it was made from, and leaves that log as it was", async (t) => {
  const recording = await runFlow(
    flow("nested", () => {
      const outer = log.with({ a: 1, b: 1 });
      outer.with({ b: 2, c: 3 }).warning("inner");
      outer.debug("outer");
      log.error("bare");
    }),
  );
  t.same(
    recording.logs.map(({ level, message }) => [level, message]),
    [
      [30, "inner a=1 b=2 c=3"],
      [10, "outer a=1 b=1"],
      [40, "bare"],
    ],
  );
});

t.test("secrets in fields are masked, also those that quoting would change", async (t) => {
  const secret = 'pa"ss \\ word';
  const recording = await runFlow(
    flow("masked", async () => {
      await variable.set("token", secret, { secret: true });
      log
        .with({ token: secret, url: `x=${secret}`, deep: { list: [secret], [secret]: 1 }, error: new Error(secret), [secret]: 1 })
        .info("sent");
    }),
  );
  t.equal(
    recording.logs[0]?.message,
    String.raw`sent token=*** url="x=***" deep="{\"list\":[\"***\"],\"***\":1}" error="Error: ***" ***=1`,
  );
});

t.test("outside a run a line with fields is one text of the console", (t) => {
  const lines = t.capture(console, "warn");
  log.with({ rows: 1 }).warning("%s done", "load");
  t.same(
    lines().map(({ args }) => args),
    [["load done rows=1"]],
  );
  t.end();
});

t.test("a value whose own code fails while it is written out is named, beside the others", async (t) => {
  const hostile = {
    [Symbol.for("nodejs.util.inspect.custom")]: () => {
      throw new RangeError("no view");
    },
  };
  t.equal(await messageOf({}, "row", hostile, 3), "row [cannot be shown: RangeError: no view] 3");
});
