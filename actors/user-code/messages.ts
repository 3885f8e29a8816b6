/** Messages between the user code actor and its callers. */
import type { CustomRoute, RouteAbandoned, RouteRequest } from "#protocol/custom-route";
import type { CodeProblem } from "#protocol/server";
import type { RegisterFlows, ReloadCode } from "../records/records.ts";
import type { RegisterRules } from "../rules/register-rules.ts";
import type { UserCallRequest } from "./calls.ts";

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
