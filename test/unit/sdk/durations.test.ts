import t from "tap";
import { parseDuration } from "#sdk/define/duration";
import { checkRetryOptions, retryDelayOf } from "#sdk/define/retry";
import { Abort } from "#sdk/execution/failure";

t.test("durations are seconds or text with a unit", async (t) => {
  for (const [text, seconds] of [
    [30, 30],
    ["30s", 30],
    ["5m", 300],
    ["500ms", 0.5],
    ["1.5h", 5400],
    ["2d", 172_800],
    ["12", 12],
  ] as const) {
    t.equal(parseDuration(text), seconds, String(text));
  }
  for (const wrong of ["", "5 minutes", "-1s", "1m30s", -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => parseDuration(wrong), RangeError, String(wrong));
  }
});

t.test("the delay before a retry comes from a number, a list or a function", async (t) => {
  const error = new Error("x");
  t.equal(retryDelayOf({ retries: 3 }, 1, error), 0);
  t.equal(retryDelayOf({ retries: 3, retryDelay: "2s" }, 3, error), 2);
  t.same(
    [1, 2, 3, 4].map((retry) => retryDelayOf({ retries: 4, retryDelay: [1, "5s"] }, retry, error)),
    [1, 5, 5, 5],
    "the last entry of a list repeats",
  );
  t.equal(retryDelayOf({ retries: 9, retryDelay: (retry) => retry * 10 }, 4, error), 40);
  t.equal(
    retryDelayOf({ retries: 1, retryDelay: 10, retryJitter: 0.5 }, 1, error, () => 0.5),
    12.5,
  );
});

t.test("a failure is final after the last retry, for Abort, and when retryOn says so", async (t) => {
  t.equal(retryDelayOf({}, 1, new Error("x")), null);
  t.equal(retryDelayOf({ retries: 2 }, 3, new Error("x")), null);
  t.equal(retryDelayOf({ retries: 2 }, 1, new Abort("x")), null);
  const options = { retries: 2, retryOn: (error: unknown) => error instanceof RangeError };
  t.equal(retryDelayOf(options, 1, new Error("x")), null);
  t.equal(retryDelayOf(options, 1, new RangeError("x")), 0);
});

t.test("retry options out of range are refused when they are declared", async (t) => {
  for (const options of [
    { retries: -1 },
    { retries: 1.5 },
    { retryJitter: -1 },
    { retryDelay: "soon" },
    { retryDelay: [1, -1] },
  ]) {
    t.throws(() => checkRetryOptions(options), RangeError, JSON.stringify(options));
  }
});
