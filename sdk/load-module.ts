import { registerHooks } from "node:module";
import { resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { routeShape } from "#protocol/custom-route";
import { describeFailure } from "./failure.ts";
import { definitionOf, type FlowDefinition } from "./flow.ts";
import {
  type Registration,
  type RouteRegistration,
  type RuleRegistration,
  registrationOf,
  routeRegistrationOf,
  ruleRegistrationOf,
} from "./registration.ts";
import { type RouteDefinition, routeOf } from "./route.ts";
import { type RuleDefinition, ruleOf } from "./rule.ts";
import { shared } from "./shared-state.ts";

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

/** What a module exports that a server serves. */
export interface Exported {
  flows: LoadedFlow[];
  rules: LoadedRule[];
  routes: LoadedRoute[];
}

export type LoadedModule =
  | (Exported & { error: null })
  /** `error` is one line with advice; `traceback` ends with that line. */
  | { flows: []; rules: []; routes: []; error: string; traceback: string };

/** What Node says about files that type stripping cannot run. */
const NEEDS_LOADER = new Set([
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
]);

const LOADER_ADVICE =
  "Node only strips types: enums, namespaces, parameter properties, JSX and path aliases need a loader of your own; name it with --import, for example --import tsx";

/**
 * Imports a module with flow calls outside a run ignored, and returns the flows, rules and routes it exports.
 * A module that cannot be imported is an answer with `error`, not an exception.
 *
 * @param sourceDir the served directory; a relative path counts from the working directory
 * @param module path of the file relative to sourceDir
 */
export async function loadModule(sourceDir: string, module: string): Promise<LoadedModule> {
  const directory = resolve(sourceDir);
  const path = module.split(sep).join("/");
  shared.served = true;
  shared.suppressed = "flow files are only imported here";
  offerOwnPackage();
  try {
    const exported = (await import(pathToFileURL(resolve(directory, path)).href)) as Record<string, unknown>;
    return { ...readExports(exported, directory, path), error: null };
  } catch (error) {
    return importFailure(error);
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

/** Exports of one kind by name; the same one under two export names counts once. */
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

function importFailure(error: unknown): LoadedModule {
  const { message, traceback } = describeFailure(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const [first = message] = message.split("\n");
  const aliased = code === "ERR_MODULE_NOT_FOUND" && /'[@~#][^']*'/.test(first);
  const line = NEEDS_LOADER.has(code) || aliased ? `${first} (${LOADER_ADVICE})` : first;
  return { flows: [], rules: [], routes: [], error: line, traceback: `${traceback}\n${line}` };
}

let offered = false;

/** Lets files import "millrace" where no such package is installed for them: they get this copy. */
function offerOwnPackage(): void {
  if (offered) return;
  offered = true;
  const own = new Map([
    ["millrace", new URL(`./index${extension()}`, import.meta.url).href],
    ["millrace/testing", new URL(`./testing/index${extension()}`, import.meta.url).href],
    ["millrace/client", new URL(`./client/index${extension()}`, import.meta.url).href],
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

/** Files are .ts when this package runs from its source and .js when it is compiled. */
function extension(): string {
  return import.meta.url.endsWith(".ts") ? ".ts" : ".js";
}
