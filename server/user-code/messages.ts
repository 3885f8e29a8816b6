/** Messages between the server and the user-code process. */
import type { CallOutcome, RouteCall, UserCall } from "#actors/user-code/user-code-calls";
import type { LoadedFile } from "#sdk/modules/loaded-file";
import type { Registration, RouteRegistration, RuleRegistration } from "#sdk/modules/registration";

export type ChildCall = UserCall | RouteCall;

/** The outcome of a call in user code. */
export type CallAnswer = Exclude<CallOutcome, { type: "timed out" | "ended" }>;

export type ToChild =
  /** Imports a module; `module` is a path below `sourceDir` (absolute), with forward slashes. */
  | { kind: "Load"; sourceDir: string; module: string }
  | { kind: "Call"; id: number; call: ChildCall }
  /** The caller no longer waits for the call. */
  | { kind: "Abort"; id: number }
  | { kind: "Ping" };

/** The exports of a module, or the reason why it cannot be imported. */
export interface LoadedModule {
  kind: "Loaded";
  flows: Registration[];
  rules: RuleRegistration[];
  routes: RouteRegistration[];
  /** True when the module needs a live process: for rules, routes, or hooks of flows. */
  called: boolean;
  /** Paths of the user's files loaded for the module, including its own. */
  files: string[];
  /** The first line states the problem and its place; further lines show the code. */
  error: string | null;
  /** Probable mistakes in the declarations. */
  warnings: string[];
}

export type FromChild =
  /** The process accepts messages. */
  | { kind: "Ready" }
  | LoadedModule
  /** A file of the user is about to be loaded, possibly by a call. */
  | { kind: "Imported"; file: LoadedFile }
  | { kind: "Answer"; id: number; answer: CallAnswer }
  | { kind: "Pong" };
