/** Validators of other libraries (https://standardschema.dev): they say how to check a value, and not as JSON Schema what it is. */

/** How a library makes JSON Schema of its validators. */
const CONVERTED: Readonly<Record<string, string>> = {
  zod: "z.toJSONSchema(schema) of zod 4",
  valibot: "toJsonSchema(schema) of @valibot/to-json-schema",
  arktype: "schema.toJsonSchema() of arktype",
};

/** @throws TypeError for a validator: read as JSON Schema it would allow anything, or nothing. */
export function refuseValidator(declared: object, owner: string): void {
  // What these libraries convert to JSON Schema carries the marker too.
  if (!("~standard" in declared) || (typeof declared !== "function" && "properties" in declared)) return;
  const { vendor } = declared["~standard"] as { vendor?: unknown };
  const advice = CONVERTED[String(vendor)] ?? "the JSON Schema that the library makes of it";
  throw new TypeError(
    `${owner}: a schema of ${String(vendor)} cannot be used; give JSON Schema (${advice}), or a schema of typebox: Type.Object({...})`,
  );
}
