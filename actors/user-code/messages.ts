/** Messages between the user code actor and those who have user code called. */
import type { CustomRoute, RouteAbandoned, RouteRequest, RouteResponse } from "#protocol/custom-route";
import type { CodeProblem } from "#protocol/server";
import type { State } from "#protocol/state";
import type { RegisterFlows, ReloadCode } from "../records/core.ts";
import type { RegisterRules } from "../rules/register-rules.ts";

/** A run as hooks are told of it. */
export interface HookRun {
  id: number;
  external_id: string;
  name: string;
  parameters: Record<string, unknown>;
  attempt: number;
}

/** A call of user code that is a row before it is made. */
export type UserCall =
  /** The function of a code rule; event and run are their records as the rule saw them. */
  | { type: "rule"; module: string; name: string; event: unknown; run: unknown }
  /** The hook of a flow for a state that its run reached without an engine. */
  | { type: "hook"; module: string; project: string; flow: string; run: HookRun; state: State };

/** A request for a custom route, as its handler gets it. */
export interface RouteCall extends Pick<RouteRequest, "method" | "url" | "params" | "headers" | "body"> {
  type: "route";
  module: string;
  /** The method and path under which the route was declared. */
  declared: { method: string; path: string };
}

/** What became of a call. */
export type CallOutcome =
  | { type: "rule"; detail: unknown }
  /** What happened in the hook, as an engine reports it. */
  | { type: "hook"; items: unknown[] }
  | { type: "route"; response: RouteResponse }
  /** It threw, or what it returned cannot be an answer. */
  | { type: "failed"; error: string }
  | { type: "timed out" }
  /** The process ended before it answered. */
  | { type: "ended"; cause: string };

/** Asks for a call; the answer is OutboundDone for a rule, HookDone for a hook. */
export interface UserCallRequest {
  kind: "UserCall";
  id: number;
  /** Null for a hook. */
  firing_id: number | null;
  call: UserCall;
}

/** A hook was called, or could not be. */
export interface HookDone {
  kind: "HookDone";
  id: number;
  run_id: number;
  /** What happened in it, as an engine reports it. */
  items: unknown[];
  error: string | null;
}

/** What the served directory holds now: handed on to those who serve it. */
export interface CodeFound {
  kind: "CodeFound";
  flows: RegisterFlows;
  rules: RegisterRules;
  routes: CustomRoute[];
  problems: CodeProblem[];
  /** Null when nothing that was loaded before has changed. */
  reloaded: ReloadCode | null;
}

export type UserCodeMessage =
  | UserCallRequest
  | RouteRequest
  | RouteAbandoned
  | CodeFound
  /** A gateway has started: it has no routes yet. */
  | { kind: "GatewayStarted" }
  | { kind: "Look" };
