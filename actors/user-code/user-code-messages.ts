/** Messages between the user code actor and its callers. */

import type { CodeProblem } from "#protocol/records/server";
import type { CustomRoute, RouteAbandoned, RouteRequest } from "#protocol/routes/custom-route";
import type { RegisterFlows, ReloadCode } from "../records/records.ts";
import type { RegisterRules } from "../rule-engine/rules/register-rules.ts";
import type { UserCallRequest } from "./user-code-calls.ts";

/** The content of the served directory, to be passed on to the actors that serve it. */
export interface CodeFound {
  kind: "CodeFound";
  flows: RegisterFlows;
  rules: RegisterRules;
  routes: CustomRoute[];
  problems: CodeProblem[];
  /** Null when no previously loaded file has changed. */
  reloaded: ReloadCode | null;
}

export type UserCodeMessage =
  | UserCallRequest
  | RouteRequest
  | RouteAbandoned
  | CodeFound
  /** A gateway has started and has no routes yet. */
  | { kind: "GatewayStarted" }
  | { kind: "Look" };
