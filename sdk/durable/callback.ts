import { type Duration, parseDuration } from "../define/duration.ts";
import { never } from "./suspension.ts";
import { type DurableWaitOptions, waitCall, waitIdentity } from "./wait-call.ts";
import { WaitTimeout } from "./wait-errors.ts";

/** Options of `callback`. */
export interface CallbackOptions extends DurableWaitOptions {
  /** How long the URL can be called; after that time result() throws WaitTimeout. Default: for ever. */
  timeout?: Duration;
}

/** A URL that answers a wait once, without the server's token. */
export interface Callback<Result = unknown> {
  /** The URL stays the same when the flow begins again. */
  readonly url: string;
  /** The JSON that was sent to the URL. @throws WaitTimeout */
  result(): Promise<Result>;
}

/**
 * Makes a URL for an answer: `POST` to it with JSON of at most 64,000 bytes settles the wait. Anyone who knows the URL can call
 * it, but only once.
 * @throws Error outside a durable flow's function, and in a script without a server
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { callback, flow, log } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const order = flow("order", { durable: true }, async () => {
 *   const payment = await callback<{ amount: number }>({ timeout: "1d" });
 *   log.info("send the payment to", payment.url);
 *   return (await payment.result()).amount;
 * });
 *
 * const { result } = await runFlow(order, {}, { callbacks: [{ amount: 12 }] });
 * assert.equal(result, 12);
 * ```
 */
export async function callback<Result = unknown>(options: CallbackOptions = {}): Promise<Callback<Result>> {
  const timeout = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  const call = waitCall("callback()");
  if (call === null) return await never();
  const { durable, caller } = call;
  const identity = waitIdentity(caller, "callback", options.key, []);
  const address = await durable.address();
  const wait = await durable.arm({
    ...identity,
    kind: "callback",
    name: options.key === undefined ? "callback" : `callback ${options.key}`,
    ...(timeout === undefined ? {} : { timeout }),
  });
  const url = new URL(wait.url ?? "", address).href;
  return {
    url,
    async result() {
      const outcome = await durable.outcome(wait, options.hold);
      if (outcome.kind === "answered") return outcome.value as Result;
      throw new WaitTimeout("the callback", timeout ?? 0);
    },
  };
}
