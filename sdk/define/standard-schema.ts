/** Validators of other libraries (https://standardschema.dev): they can check a value but do not describe it as JSON Schema. */

/** How each library converts its validators to JSON Schema. */
const CONVERTED: Readonly<Record<string, string>> = {
  zod: "z.toJSONSchema(schema) of zod 4",
  valibot: "toJsonSchema(schema) of @valibot/to-json-schema",
  arktype: "schema.toJsonSchema() of arktype",
};

/** @throws TypeError for a validator, because read as JSON Schema it would allow anything, or nothing. */
export function refuseValidator(declared: object, owner: string): void {
  // JSON Schema converted by these libraries carries the marker too.
  if (!("~standard" in declared) || (typeof declared !== "function" && "properties" in declared)) return;
  const { vendor } = declared["~standard"] as { vendor?: unknown };
  const advice = CONVERTED[String(vendor)] ?? "the JSON Schema that the library makes of it";
  throw new TypeError(
    `${owner}: a schema of ${String(vendor)} cannot be used; give JSON Schema (${advice}), or a schema of typebox: Type.Object({...})`,
  );
}
