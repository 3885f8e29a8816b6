import { registerHooks } from "node:module";
import { resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { describeFailure } from "./failure.ts";
import { definitionOf, type FlowDefinition } from "./flow.ts";
import { type Registration, registrationOf } from "./registration.ts";
import { shared } from "./shared-state.ts";

/** A flow that a module exports. */
export interface LoadedFlow {
  definition: FlowDefinition;
  registration: Registration;
}

export type LoadedModule =
  | { flows: LoadedFlow[]; error: null }
  /** `error` is one line with advice; `traceback` ends with that line. */
  | { flows: []; error: string; traceback: string };

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
 * Imports a module with flow calls outside a run ignored, and returns the flows it exports.
 * A module that cannot be imported is an answer with `error`, not an exception.
 *
 * @param sourceDir the served directory; a relative path counts from the working directory
 * @param module path of the file relative to sourceDir
 */
export async function loadFlows(sourceDir: string, module: string): Promise<LoadedModule> {
  const directory = resolve(sourceDir);
  const path = module.split(sep).join("/");
  shared.suppressed = "flow files are only imported here";
  offerOwnPackage();
  try {
    const exported = (await import(pathToFileURL(resolve(directory, path)).href)) as Record<string, unknown>;
    return { flows: exportedFlows(exported, directory, path), error: null };
  } catch (error) {
    return importFailure(error);
  }
}

function exportedFlows(exported: Record<string, unknown>, directory: string, module: string): LoadedFlow[] {
  const byName = new Map<string, LoadedFlow>();
  for (const value of Object.values(exported)) {
    const definition = definitionOf(value);
    if (definition === undefined) continue;
    const registration = registrationOf(definition, directory, module);
    const name = `${registration.project}/${definition.name}`;
    const known = byName.get(name);
    // One flow under two export names is one flow.
    if (known !== undefined && known.definition !== definition) throw new Error(`two flows are called "${name}"`);
    byName.set(name, { definition, registration });
  }
  return [...byName.values()];
}

function importFailure(error: unknown): LoadedModule {
  const { message, traceback } = describeFailure(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const [first = message] = message.split("\n");
  const aliased = code === "ERR_MODULE_NOT_FOUND" && /'[@~#][^']*'/.test(first);
  const line = NEEDS_LOADER.has(code) || aliased ? `${first} (${LOADER_ADVICE})` : first;
  return { flows: [], error: line, traceback: `${traceback}\n${line}` };
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
