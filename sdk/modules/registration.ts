import { basename } from "node:path";
import type { RuleSpec } from "#protocol/records/rule";
import type { CustomMethod } from "#protocol/routes/custom-route";
import type { FlowDefinition } from "../define/flow.ts";
import type { WireFlowOptions } from "../define/flow-options.ts";
import type { JsonSchema } from "../define/parameters.ts";
import type { RouteDefinition } from "../define/routes/route.ts";
import { type RuleDefinition, scopedSpec } from "../define/rules/rule.ts";

/** A flow as it is registered with the server (the registration part of POST /api/runs). */
export interface Registration {
  project: string;
  /** The flow's name. */
  flow: string;
  /** Path of the file relative to source_dir, with forward slashes. */
  module: string;
  /** Absolute path of the served directory. */
  source_dir: string;
  description: string | null;
  flow_group: string | null;
  flow_tags: string[];
  parameter_schema: JsonSchema;
  options: WireFlowOptions;
}

/** The registration record of a flow found in `module` of `sourceDir` (absolute). */
export function registrationOf(flow: FlowDefinition, sourceDir: string, module: string): Registration {
  return {
    project: flow.project ?? basename(sourceDir),
    flow: flow.name,
    module,
    source_dir: sourceDir,
    description: flow.options.description ?? null,
    flow_group: flow.options.group ?? null,
    flow_tags: [...(flow.options.tags ?? [])],
    parameter_schema: flow.schema,
    options: flow.wire,
  };
}

/** A rule in code as registered with the server. Its name distinguishes it from the other rules in code. */
export interface RuleRegistration {
  name: string;
  module: string;
  spec: RuleSpec;
}

export function ruleRegistrationOf(rule: RuleDefinition, sourceDir: string, module: string): RuleRegistration {
  return { name: rule.name, module, spec: scopedSpec(rule, basename(sourceDir)) };
}

/** A custom route as registered with the server. */
export interface RouteRegistration {
  method: CustomMethod;
  path: string;
  module: string;
  limit_ms: number;
  /** Served without the token: an incoming hook. */
  public: boolean;
}

export function routeRegistrationOf({ method, path, limitMs, hook }: RouteDefinition, module: string): RouteRegistration {
  return { method, path, module, limit_ms: limitMs, public: hook !== null };
}
