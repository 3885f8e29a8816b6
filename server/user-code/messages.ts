/** Messages between the server and the process of user code. */
import type { CallOutcome, RouteCall, UserCall } from "#actors/user-code/messages";
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
  /** Files that were loaded for it and are the user's, absolute. */
  files: string[];
  error: string | null;
}

export type FromChild =
  /** It takes messages. */
  { kind: "Ready" } | LoadedModule | { kind: "Answer"; id: number; answer: CallAnswer } | { kind: "Pong" };
