/** Messages between the server and the process of user code. */
import type { CallOutcome, RouteCall, UserCall } from "#actors/user-code/messages";
import type { LoadedFile } from "#sdk/loaded-file";
import type { Registration, RouteRegistration, RuleRegistration } from "#sdk/registration";

export type ChildCall = UserCall | RouteCall;

/** What user code made of a call. */
export type CallAnswer = Exclude<CallOutcome, { type: "timed out" | "ended" }>;

export type ToChild =
  /** Imports a module; `module` is a path below `sourceDir` (absolute), with forward slashes. */
  | { kind: "Load"; sourceDir: string; module: string }
  | { kind: "Call"; id: number; call: ChildCall }
  /** Nobody waits for the call any more. */
  | { kind: "Abort"; id: number }
  | { kind: "Ping" };

/** What a module exports, or why it cannot be imported. */
export interface LoadedModule {
  kind: "Loaded";
  flows: Registration[];
  rules: RuleRegistration[];
  routes: RouteRegistration[];
  /** Whether the process has to live for it: rules, routes, or hooks of flows. */
  called: boolean;
  /** Paths of the files that were loaded for it and are the user's, its own included. */
  files: string[];
  /** The first line says what is wrong and where, those after it show the code. */
  error: string | null;
  /** What is probably meant otherwise. */
  warnings: string[];
  /** The package.json that does not say what the module is, null where one does or there is none. */
  typelessPackage: string | null;
}

export type FromChild =
  /** It takes messages. */
  | { kind: "Ready" }
  | LoadedModule
  /** A file of the user's is about to be loaded, also by a call. */
  | { kind: "Imported"; file: LoadedFile }
  | { kind: "Answer"; id: number; answer: CallAnswer }
  | { kind: "Pong" };
