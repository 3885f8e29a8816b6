/** References of a JSON Schema to a place in itself: `{ "$ref": "#/$defs/Limits" }`. */

/** Longest chain of references; a longer chain is a cycle, or an attempt to waste time. */
const REFERENCES_MAX = 32;

/**
 * The schema that a reference resolves to, also over several references; the schema itself without one; undefined if the target
 * is missing.
 */
export function localSchema(root: unknown, schema: unknown): unknown {
  let found = schema;
  for (let followed = 0; followed <= REFERENCES_MAX; followed += 1) {
    const reference = typeof found === "object" && found !== null ? (found as { $ref?: unknown }).$ref : undefined;
    if (typeof reference !== "string") return found;
    found = at(root, reference);
  }
  return undefined;
}

/** The target of a JSON Pointer in a fragment (`#/a/b`); other references are not local. */
function at(root: unknown, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
