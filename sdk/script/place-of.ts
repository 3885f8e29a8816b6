/** The place where engines find a flow. */
import { basename, dirname, isAbsolute, relative, resolve, sep } from "node:path";
import type { FlowDefinition } from "../define/flow.ts";
import { type Registration, registrationOf } from "../modules/registration.ts";

/** Inside a directory that a server serves, the flow belongs to that directory. */
export function placeOf(definition: FlowDefinition, served: string | null): Registration {
  const file = definition.file ?? resolve(process.argv[1] ?? "script");
  const inside = served === null ? "" : relative(served, file);
  const isServed = served !== null && inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
  const sourceDir = isServed ? served : dirname(file);
  const module = isServed ? inside.split(sep).join("/") : basename(file);
  return registrationOf(definition, sourceDir, module);
}
