import { currentScope } from "../execution/active-run.ts";
import { ScriptVariables } from "../script/script-variables.ts";
import type { SetVariableOptions, VariableStore } from "./variable-store.ts";

/**
 * Named JSON values that outlive runs, inside and outside a run. Names consist of a-z, 0-9 and `_ . / -`; a value has at most
 * 64 kB as JSON. Secrets are encrypted at rest and can be read only with the key of the home.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, variable } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const next = flow("next", async () => {
 *   const seen = await variable.get("orders.seen", 0);
 *   await variable.set("orders.seen", seen + 3);
 * });
 *
 * const { variables } = await runFlow(next, {}, { variables: { "orders.seen": 39 } });
 * assert.equal(variables.get("orders.seen"), 42);
 * ```
 */
export const variable = {
  /**
   * The value of a variable, or `fallback` (undefined without one) if there is none.
   * @throws Error for a secret whose key this machine lacks; MillraceError when the server can't be reached
   */
  get: get as {
    <Value = unknown>(name: string): Promise<Value | undefined>;
    <Value>(name: string, fallback: Value): Promise<Value>;
  },

  /**
   * Creates or replaces a variable. @throws MillraceError for a name or value that the server refuses; TypeError for a value
   * that is not JSON.
   */
  async set(name: string, value: unknown, options: SetVariableOptions = {}): Promise<void> {
    if (JSON.stringify(value) === undefined) throw new TypeError(`the value of variable "${name}" has no JSON form`);
    if (options.secret === true) currentScope()?.run.secrets.add(value);
    await store().set(name, value, options);
  },

  /** Removes a variable; false if there was none. */
  async remove(name: string): Promise<boolean> {
    return await store().remove(name);
  },
};

async function get(name: string, fallback?: unknown): Promise<unknown> {
  const found = await store().get(name);
  if (found?.secret === true) currentScope()?.run.secrets.add(found.value);
  return found === null ? fallback : found.value;
}

function store(): VariableStore {
  return currentScope()?.run.services.variables ?? new ScriptVariables();
}
