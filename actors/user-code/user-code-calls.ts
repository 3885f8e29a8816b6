/** Calls of user code: what is called, and how a call ends. */

import type { RunOriginRecord } from "#protocol/records/engine";
import type { State } from "#protocol/records/state";
import type { RouteRequest, RouteResponse } from "#protocol/routes/custom-route";

/** A run as hooks receive it. */
export interface HookRun extends RunOriginRecord {
  id: number;
  external_id: string;
  name: string;
  parameters: Record<string, unknown>;
}

/** A call of user code that is stored as a row before it is made. */
export type UserCall =
  /** The function of a code rule; event and run are the records when the rule fired. */
  | { type: "rule"; module: string; name: string; event: unknown; run: unknown }
  /** The hook of a flow for a state that its run reached without an engine. */
  | { type: "hook"; module: string; project: string; flow: string; run: HookRun; state: State };

/** A request for a custom route, as its handler receives it. */
export interface RouteCall extends Pick<RouteRequest, "method" | "url" | "params" | "headers" | "body"> {
  type: "route";
  module: string;
  /** The method and path with which the route was declared. */
  declared: { method: string; path: string };
}

/** The outcome of a call. */
export type CallOutcome =
  | { type: "rule"; detail: unknown }
  /** The effects of the hook, in the form of an engine's report. */
  | { type: "hook"; items: unknown[] }
  | { type: "route"; response: RouteResponse }
  /** The function threw, or its return value cannot be an answer. */
  | { type: "failed"; error: string }
  | { type: "timed out" }
  /** The process ended before it answered. */
  | { type: "ended"; cause: string };

/** Requests a call; answered by OutboundDone for a rule, HookDone for a hook. */
export interface UserCallRequest {
  kind: "UserCall";
  id: number;
  /** Null for a hook. */
  firing_id: number | null;
  call: UserCall;
}

/** A hook was called, or could not be called. */
export interface HookDone {
  kind: "HookDone";
  id: number;
  run_id: number;
  /** The effects of the hook, in the form of an engine's report. */
  items: unknown[];
  error: string | null;
}
