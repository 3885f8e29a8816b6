/** What is recorded of thrown values: any value, and errors whose parts are of an unexpected kind or throw when they are read. */

import t from "tap";
import { describeFailure } from "#sdk/execution/failure";
import { flow, task } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";

/** An error with this property. */
function having(key: PropertyKey, property: PropertyDescriptor): Error {
  return Object.defineProperty(new Error("text"), key, property);
}

function broken(): never {
  throw new Error("it must not be read");
}

t.test("a class without a name and names that are no texts are Errors", async (t) => {
  t.equal(describeFailure(new (class extends Error {})("text")).message, "Error: text");
  for (const value of ["", undefined, 42, Symbol("name")]) {
    const { message, exception } = describeFailure(having("name", { value }));
    t.strictSame([message, exception], ["Error: text", "Error"], String(value));
  }
  t.equal(describeFailure(having("constructor", { value: undefined })).message, "Error: text");
  const { message, exception } = describeFailure(having("name", { value: "N".repeat(100_000) }));
  t.equal(exception, "N".repeat(200));
  t.equal(message, `${exception}: text`);
});

t.test("a message that is no text is shown", async (t) => {
  t.equal(describeFailure(having("message", { value: { code: 7 } })).message, "Error: { code: 7 }");
  t.equal(describeFailure(having("message", { value: Symbol("m") })).message, "Error: Symbol(m)");
  t.equal(describeFailure(having("message", { value: "" })).message, "Error");
});

t.test("an error that throws when it is read is described by its other parts", async (t) => {
  const unread = "the error cannot be shown, because it throws when it is read";
  t.equal(describeFailure(having("message", { get: broken })).message, `Error: ${unread}`);
  t.equal(describeFailure(having("name", { get: broken })).message, "Error: text");
  t.match(describeFailure(having(Symbol.for("nodejs.util.inspect.custom"), { value: broken })), {
    message: "Error: text",
    traceback: "Error: text",
  });
  const { proxy, revoke } = Proxy.revocable(new Error("text"), {});
  revoke();
  t.equal(describeFailure(proxy).message, `Error: ${unread}`);
});

t.test("a task that throws a proxy which does not say what it is fails like another", async (t) => {
  const revoked = task("revoked", { retries: 1 }, async () => {
    const { proxy, revoke } = Proxy.revocable(new Error("text"), {});
    revoke();
    throw proxy;
  });
  const { state, taskRuns, logs } = await runFlow(flow("throws", async () => await revoked()));
  const message = /^Error: the error cannot be shown/;
  t.match(
    [state, taskRuns[0]?.states.at(-1)],
    [
      { type: "Failed", message },
      { type: "Failed", message },
    ],
  );
  t.equal(logs.filter((line) => line.message.startsWith("attempt 2 of 2 failed: Error: the error")).length, 1);
});

t.test("a task that throws such an error is called again", async (t) => {
  let calls = 0;
  const odd = task("odd", { retries: 1 }, async () => {
    calls += 1;
    throw having("message", { get: broken });
  });
  const { state, logs } = await runFlow(flow("throws", async () => await odd()));
  t.equal(calls, 2);
  t.match(state, { type: "Failed", message: /^Error: the error cannot be shown/ });
  t.match(logs.at(-1), { message: /^attempt 1 of 1 failed: Error: the error cannot be shown/ });
});
