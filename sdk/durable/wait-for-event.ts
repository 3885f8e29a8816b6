import { type Duration, parseDuration } from "../define/duration.ts";
import { never } from "./suspension.ts";
import { type DurableWaitOptions, waitCall, waitIdentity } from "./wait-call.ts";
import { WaitTimeout } from "./wait-errors.ts";

/** Options of `waitForEvent`. */
export interface EventWaitOptions extends DurableWaitOptions {
  /** Values by dotted path of the event, all of which must be equal: `{ "payload.order": 7 }`. */
  where?: Readonly<Record<string, unknown>>;
  /** How long to wait; then WaitTimeout is thrown. Default: for ever. */
  timeout?: Duration;
}

/** An event that a run has waited for. */
export interface AwaitedEvent {
  /** The id of the event. */
  id: number;
  /** The name of the event. */
  name: string;
  /** Microseconds since the Unix epoch, UTC. */
  occurred: number;
  /** What the sender of the event gave with it. */
  payload: Record<string, unknown>;
  /** The run that the event is about, null without one. */
  run_id: number | null;
}

/**
 * Waits for an event of this name, which emit(), POST /api/events or the server itself records. All events since the beginning
 * of the run count, also those before this call. Each event settles at most one wait of the run, and the oldest matching event
 * is taken first.
 * @throws WaitTimeout; TypeError for a value of `where` that is not JSON; Error outside a durable flow's function
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, waitForEvent } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const ship = flow("ship", { durable: true }, async () => {
 *   const paid = await waitForEvent("order.paid", { where: { "payload.order": 7 }, timeout: "3d" });
 *   return paid.payload["amount"];
 * });
 *
 * const { result } = await runFlow(ship, {}, { events: [{ name: "order.paid", payload: { order: 7, amount: 12 } }] });
 * assert.equal(result, 12);
 * ```
 */
export async function waitForEvent(name: string, options: EventWaitOptions = {}): Promise<AwaitedEvent> {
  const what = `waitForEvent("${name}")`;
  if (typeof name !== "string" || name === "") throw new TypeError("waitForEvent() needs the name of an event");
  const timeout = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  const where = options.where === undefined ? undefined : filterOf(what, options.where);
  const call = waitCall(what);
  if (call === null) return await never();
  const { durable, caller } = call;
  const wait = await durable.arm({
    ...waitIdentity(caller, "event", options.key, [name, where]),
    kind: "event",
    name: `event ${name}`,
    event: name,
    ...(where === undefined ? {} : { where }),
    ...(timeout === undefined ? {} : { timeout }),
  });
  const outcome = await durable.outcome(wait, options.hold);
  if (outcome.kind === "event") return outcome.event as unknown as AwaitedEvent;
  throw new WaitTimeout(`event "${name}"`, timeout ?? 0);
}

/** A value that JSON leaves out would be no condition at all, and any event of the name would do. */
function filterOf(what: string, where: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const filter: [string, unknown][] = Object.entries(where).map(([path, value]) => {
    const text = typeof value === "bigint" ? undefined : JSON.stringify(value);
    if (text === undefined) throw new TypeError(`${what} compares "${path}" with a value that is not JSON: ${String(value)}`);
    return [path, JSON.parse(text) as unknown];
  });
  return Object.fromEntries(filter);
}
