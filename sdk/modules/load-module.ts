import { registerHooks } from "node:module";
import { resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { routeShape } from "#protocol/routes/custom-route";
import { withNotes } from "../define/declaration-notes.ts";
import { definitionOf, type FlowDefinition } from "../define/flow.ts";
import { type RouteDefinition, routeOf } from "../define/routes/route.ts";
import { type RuleDefinition, ruleOf } from "../define/rules/rule.ts";
import { shared } from "../execution/shared-state.ts";
import { type ImportFailure, importFailure, noteLoads } from "./import-failure.ts";
import { isJobsFile, offerJobs } from "./jobs-module.ts";
import { readModulesByTheirSyntax } from "./module-kind.ts";
import {
  type Registration,
  type RouteRegistration,
  type RuleRegistration,
  registrationOf,
  routeRegistrationOf,
  ruleRegistrationOf,
} from "./registration.ts";

/** A flow that a module exports. */
export interface LoadedFlow {
  definition: FlowDefinition;
  registration: Registration;
}

/** A rule with a function that a module exports. */
export interface LoadedRule {
  definition: RuleDefinition;
  registration: RuleRegistration;
}

/** A route that a module exports. */
export interface LoadedRoute {
  definition: RouteDefinition;
  registration: RouteRegistration;
}

/** The exports of a module that a server serves. */
export interface Exported {
  flows: LoadedFlow[];
  rules: LoadedRule[];
  routes: LoadedRoute[];
}

export type LoadedModule =
  | (Exported & {
      error: null;
      /** Likely mistakes, one line each. */
      warnings: string[];
    })
  | ({ flows: []; rules: []; routes: [] } & ImportFailure);

/**
 * Imports a module while flow calls outside a run are ignored, and returns the flows, rules and routes it exports. A module
 * that cannot be imported yields a result with `error`, not an exception.
 * @param sourceDir the served directory; a relative path is resolved against the working directory
 * @param module path of the file relative to sourceDir
 */
export async function loadModule(sourceDir: string, module: string): Promise<LoadedModule> {
  const directory = resolve(sourceDir);
  const path = module.split(sep).join("/");
  shared.served = true;
  shared.suppressed = "flow files are only imported here";
  const isJobs = isJobsFile(path);
  prepareImports();
  if (isJobs) offerJobs();
  noteLoads();
  try {
    const url = pathToFileURL(resolve(directory, path)).href;
    const { value, notes } = await withNotes(async () => (await import(url)) as Record<string, unknown>);
    const exported = readExports(isJobs ? (value["default"] as Record<string, unknown>) : value, directory, path);
    return { ...exported, error: null, warnings: [...notes.warnings, ...withoutUse(value, exported, notes.flows)] };
  } catch (error) {
    return { flows: [], rules: [], routes: [], ...importFailure(error, directory) };
  }
}

function readExports(exported: Record<string, unknown>, directory: string, module: string): Exported {
  const flows = new Named<LoadedFlow>("flows");
  const rules = new Named<LoadedRule>("rules");
  const routes = new Named<LoadedRoute>("routes");
  for (const value of Object.values(exported)) {
    const flow = definitionOf(value);
    if (flow !== undefined) {
      const registration = registrationOf(flow, directory, module);
      flows.add(`${registration.project}/${flow.name}`, { definition: flow, registration });
    }
    const rule = ruleOf(value);
    if (rule !== undefined) rules.add(rule.name, { definition: rule, registration: ruleRegistrationOf(rule, directory, module) });
    const route = routeOf(value);
    if (route !== undefined)
      routes.add(routeShape(route.method, route.path), { definition: route, registration: routeRegistrationOf(route, module) });
  }
  return { flows: flows.all, rules: rules.all, routes: routes.all };
}

/**
 * The mistake in a module that exports nothing to serve. A module that exports tasks or other values is used by other modules.
 */
function withoutUse(exported: object, { flows, rules, routes }: Exported, declared: readonly string[]): string[] {
  if (flows.length + rules.length + routes.length > 0) return [];
  const [name] = declared;
  if (name !== undefined) return [`it exports no flow: write export before what flow("${name}", ...) is assigned to`];
  if (Object.keys(exported).length > 0) return [];
  return [
    "it exports no flow, yet it is run whenever flows are looked for: export one, or move the file out of the served folder",
  ];
}

/** Exports of one kind by name; one value under two export names counts once. */
class Named<Loaded extends { definition: object }> {
  readonly #kind: string;
  readonly #byName = new Map<string, Loaded>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  get all(): Loaded[] {
    return [...this.#byName.values()];
  }

  add(name: string, loaded: Loaded): void {
    const known = this.#byName.get(name);
    if (known !== undefined && known.definition !== loaded.definition) throw new Error(`two ${this.#kind} are called "${name}"`);
    this.#byName.set(name, loaded);
  }
}

let isPrepared = false;

function prepareImports(): void {
  if (isPrepared) return;
  isPrepared = true;
  readModulesByTheirSyntax();
  offerOwnPackage();
}

/** Lets files import "millrace" where no such package is installed: they get this copy. */
function offerOwnPackage(): void {
  const own = new Map([
    ["millrace", new URL(`../index${extension()}`, import.meta.url).href],
    ["millrace/testing", new URL(`../testing/index${extension()}`, import.meta.url).href],
    ["millrace/client", new URL(`../client/index${extension()}`, import.meta.url).href],
  ]);
  registerHooks({
    resolve(specifier, context, next) {
      const url = own.get(specifier);
      if (url === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return { url, shortCircuit: true };
      }
    },
  });
}

/** Files are .ts when this package runs from source and .js when compiled. */
function extension(): string {
  return import.meta.url.endsWith(".ts") ? ".ts" : ".js";
}
