import t from "tap";
import { callerOf, keyedCall, numberedCall, rootCaller } from "#sdk/durable/identity";

t.test("a call has the same identity in every attempt, in whatever order it is made among others", async (t) => {
  const ask = (orders: number[]) => {
    const root = rootCaller();
    return new Map(orders.map((order) => [order, numberedCall(root, "ship", [order], "task").identity]));
  };
  const [first, second] = [ask([1, 2, 3]), ask([3, 1, 2])];
  for (const order of [1, 2, 3]) t.equal(first.get(order), second.get(order));
  t.equal(new Set(first.values()).size, 3);
  t.match(first.get(1), /^[0-9a-f]{32}$/);
});

t.test("equal calls are numbered, other arguments are another call of the same place", async (t) => {
  const root = rootCaller();
  const calls = [[1], [1], [2]].map((args) => numberedCall(root, "ship", args, "task"));
  t.equal(new Set(calls.map(({ identity }) => identity)).size, 3);
  t.equal(new Set(calls.map(({ place }) => place)).size, 1);
  t.not(numberedCall(root, "pack", [1], "task").place, calls[0]?.place);
});

t.test("the same key is the same call; another caller makes other calls", async (t) => {
  const root = rootCaller();
  const call = keyedCall(root, "ship", "7");
  t.same(keyedCall(root, "ship", "7"), call);
  t.not(keyedCall(root, "ship", "8").identity, call.identity);
  t.not(keyedCall(root, "pack", "7").identity, call.identity);
  t.not(keyedCall(callerOf(call), "ship", "7").identity, call.identity);
  t.not(numberedCall(root, "ship", ["7"], "task").identity, call.identity);
});

t.test("arguments without a stable text ask for a key", async (t) => {
  t.throws(() => numberedCall(rootCaller(), "ship", [{ done: () => 1 }], 'task "ship"'), {
    message: 'task "ship" of a durable flow is recognised by its arguments, but arguments[0].done is a function: give it a key',
  });
});
