import { AsyncLocalStorage } from "node:async_hooks";
import type { DeclarationNotes } from "../define/declaration-notes.ts";
import type { Scope } from "./active-run.ts";
import type { Gauges } from "./gauges.ts";

/**
 * State that must exist once per process even if two copies of this package are loaded (one by the engine, one from the user's
 * own node_modules); it is kept on the global object.
 */
interface SharedState {
  /** The run and task run that the current code belongs to. */
  scope: AsyncLocalStorage<Scope>;
  /** Why flow calls outside a run are ignored (discovery, engine); null where they are allowed. */
  suppressed: string | null;
  /** True in a process that loads flow files for a server, which is not a script. */
  served: boolean;
  /** Receives likely mistakes of declarations while a module is imported; absent if another copy made this state. */
  notes?: DeclarationNotes | null;
  /** The servers inside this process, by home. */
  homeServers: Map<string, unknown>;
  /** Objects returned by tasks, and promises of task runs, with the external ids of those task runs. */
  origins: WeakMap<object, string[]>;
  /** While these report a backlog, output of commands is not read; absent where nothing is sent. */
  gauges?: Pick<Gauges, "behind" | "caughtUp"> | undefined;
}

const KEY = Symbol.for("millrace.sdk.1");
const globals = globalThis as typeof globalThis & { [KEY]?: SharedState };

globals[KEY] ??= {
  scope: new AsyncLocalStorage<Scope>(),
  suppressed: null,
  served: false,
  homeServers: new Map(),
  origins: new WeakMap(),
};

export const shared: SharedState = globals[KEY];
