import { checkEmittedName } from "#protocol/vocabulary";
import { currentScope } from "../execution/active-run.ts";
import { shared } from "../execution/shared-state.ts";

/**
 * Records an event that rules can match and people can see. Inside a run the event is about that run; outside a run it is about
 * itself.
 * Inside a run the event is recorded at once, in order with the run's log lines; outside, the promise resolves when it is
 * stored.
 * @param name any name except those under the server's prefixes, such as "run.", whose events only the server records
 * @throws TypeError synchronously for such a name and for a payload that is not a JSON object
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { emit, flow } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const load = flow("load", async () => {
 *   await emit("orders.imported", { count: 3 });
 * });
 *
 * const { events } = await runFlow(load);
 * assert.equal(events[0]?.name, "orders.imported");
 * ```
 */
export function emit(name: string, payload: object = {}): Promise<void> {
  const wrong = checkEmittedName(name);
  if (wrong !== null) throw new TypeError(wrong);
  const plain = plainObject(name, payload);
  const scope = currentScope();
  if (scope === undefined) return record(name, plain);
  const { run, task } = scope;
  run.report({ kind: "custom", name, payload: plain, task_run_external_id: task?.externalId ?? null });
  return Promise.resolve();
}

/** Plain JSON, so that later changes of the user's object cannot alter the record. */
function plainObject(name: string, payload: object): Record<string, unknown> {
  const text = JSON.stringify(payload) as string | undefined;
  const plain: unknown = text === undefined ? undefined : JSON.parse(text);
  if (typeof plain !== "object" || plain === null || Array.isArray(plain)) {
    throw new TypeError(`the payload of event "${name}" is an object, such as { rows: 3 }`);
  }
  return plain as Record<string, unknown>;
}

async function record(name: string, payload: Record<string, unknown>): Promise<void> {
  if (shared.suppressed !== null) {
    process.stderr.write(`millrace: event "${name}" outside a run is not recorded (${shared.suppressed})\n`);
    return;
  }
  const { withHomeServer } = await import("../script/home-server.ts");
  await withHomeServer(({ client }) => client.events.emit({ name, payload }));
}
