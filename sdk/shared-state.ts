import { AsyncLocalStorage } from "node:async_hooks";
import type { Scope } from "./active-run.ts";

/**
 * What must be one in a process even where two copies of this package are loaded
 * (one by the engine, one from the user's own node_modules): it hangs on the global object.
 */
interface SharedState {
  /** The run and task run that the current code belongs to. */
  scope: AsyncLocalStorage<Scope>;
  /** Why flow calls outside a run are ignored (discovery, engine), null where they are allowed. */
  suppressed: string | null;
  /** Objects that tasks returned, and promises made of task runs, with the external ids of those task runs. */
  origins: WeakMap<object, string[]>;
}

const KEY = Symbol.for("millrace.sdk.1");
const globals = globalThis as typeof globalThis & { [KEY]?: SharedState };

globals[KEY] ??= { scope: new AsyncLocalStorage<Scope>(), suppressed: null, origins: new WeakMap() };

export const shared: SharedState = globals[KEY];
