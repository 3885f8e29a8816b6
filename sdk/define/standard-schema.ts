/**
 * Schemas of other libraries (https://standardschema.dev): zod, valibot, arktype and others. Values are checked by the library
 * itself (`~standard.validate`). Its JSON Schema, which the server and forms use, comes from the schema (`~standard.jsonSchema`), or
 * from the converter that the library documents, found beside the file that declares the flow.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

/** The part of the standard that is used here, written out so that no package of it is needed. */
export interface StandardProps {
  readonly version: 1;
  readonly vendor: string;
  readonly validate?: (value: unknown) => StandardResult | Promise<StandardResult>;
  readonly jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
}

export type StandardResult = { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const TARGET = "draft-2020-12";

/** How the versions of a library whose schemas carry no converter convert them, and what to do where that is missing. */
interface Converter {
  module: string | null;
  convert(library: Record<string, unknown>, schema: object): unknown;
  advice: string;
}

const CONVERTERS: Readonly<Record<string, Converter>> = {
  zod: {
    module: "zod",
    convert: (library, schema) => functionOf(library, "toJSONSchema")(schema, { io: "input", target: TARGET }),
    advice: "use zod 4",
  },
  valibot: {
    module: "@valibot/to-json-schema",
    convert: (library, schema) => functionOf(library, "toJsonSchema")(schema, { typeMode: "input", target: TARGET }),
    advice: "install @valibot/to-json-schema",
  },
  arktype: {
    module: null,
    convert: (_library, schema) => functionOf(schema, "in", "toJsonSchema")(),
    advice: "use arktype 2",
  },
};

/** What makes a declaration a schema of another library; null for JSON Schema and typebox. */
export function standardOf(declared: object): StandardProps | null {
  if (!("~standard" in declared)) return null;
  // JSON Schema that these libraries have made carries the marker too.
  if (typeof declared !== "function" && ("properties" in declared || "$schema" in declared)) return null;
  const props = declared["~standard"] as StandardProps;
  return typeof props === "object" && props !== null ? props : null;
}

/**
 * The JSON Schema of the values that a schema takes.
 * @param from the file that declares the schema, from which the library's converter is resolved
 * @throws TypeError when there is none, for example for a date, which JSON has not
 */
export function jsonSchemaOf(declared: object, standard: StandardProps, owner: string, from: string | null): object {
  const { vendor, jsonSchema } = standard;
  const converter = Object.hasOwn(CONVERTERS, vendor) ? CONVERTERS[vendor] : undefined;
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: TARGET });
    if (converter !== undefined) return converter.convert(libraryOf(converter, from), declared) as object;
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    const advice = jsonSchema === undefined && converter !== undefined ? `; ${converter.advice}` : "";
    throw new TypeError(`${owner}: the schema of ${vendor} cannot be written as JSON Schema: ${why}${advice}`);
  }
  throw new TypeError(`${owner}: a schema of ${vendor} carries no JSON Schema (~standard.jsonSchema); give JSON Schema instead`);
}

function libraryOf({ module }: Converter, from: string | null): Record<string, unknown> {
  if (module === null) return {};
  return createRequire(from ?? join(process.cwd(), "flow.js"))(module) as Record<string, unknown>;
}

/** A function at the end of a path of members, bound to its owner. */
function functionOf(owner: object, ...path: string[]): (...given: unknown[]) => unknown {
  let [holder, value]: [unknown, unknown] = [null, owner];
  for (const name of path) [holder, value] = [value, (value as Record<string, unknown> | undefined)?.[name]];
  if (typeof value !== "function") throw new TypeError(`there is no ${path.at(-1)}`);
  return (...given) => Reflect.apply(value, holder, given) as unknown;
}

/** @throws TypeError for a schema of another library where JSON Schema is needed: read as JSON Schema it would allow anything. */
export function refuseValidator(declared: object, owner: string): void {
  const standard = standardOf(declared);
  if (standard === null) return;
  throw new TypeError(
    `${owner}: a schema of ${standard.vendor} cannot be used here; give JSON Schema, or a schema of typebox: Type.Object({...})`,
  );
}

/** One sentence per offending parameter, as for other schemas: `day: Invalid ISO date`. */
export function explainIssues(issues: readonly Issue[]): string {
  const byPath = new Map<string, string[]>();
  for (const { path = [], message } of issues) {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    byPath.set(place, [...(byPath.get(place) ?? []), message]);
  }
  return [...byPath].map(([place, messages]) => `${place === "" ? "" : `${place}: `}${messages.join(", ")}`).join("; ");
}
