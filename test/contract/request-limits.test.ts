/** Every part of a request with variable size has a limit stated in its description. */
import t from "tap";
import { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { ROUTES } from "#protocol/routes/routes";

type Node = Readonly<Record<string, unknown>>;

/** A limit that JSON Schema cannot express: bytes of JSON text, or text that is truncated instead of refused. */
const SAID = /\b(?:at most|beyond) \d+ (?:bytes|characters)\b/i;

/** Places without a stated limit. */
function* unlimited(node: Node, path: string): Generator<string> {
  const branches = (node["anyOf"] ?? node["oneOf"]) as Node[] | undefined;
  if (branches !== undefined) for (const branch of branches) yield* unlimited({ ...described(node), ...branch }, path);
  else if (!isLimited(node)) yield path;
  for (const [name, property] of Object.entries((node["properties"] ?? {}) as Record<string, Node>))
    yield* unlimited(property, `${path}.${name}`);
  const parts = [node["items"], node["additionalProperties"]];
  for (const part of parts) if (typeof part === "object" && part !== null) yield* unlimited(part as Node, `${path}[]`);
}

function described(node: Node): Node {
  return node["description"] === undefined ? {} : { description: node["description"] };
}

function isLimited(node: Node): boolean {
  const { type, maxLength, maxItems, maxProperties, pattern } = node;
  if ("const" in node || "enum" in node || SAID.test(String(node["description"]))) return true;
  const types = Array.isArray(type) ? type : [type];
  return types.every((each) => {
    if (each === "string") return maxLength !== undefined || String(pattern).includes("{12}$");
    if (each === "array") return maxItems !== undefined;
    if (each === "object") return node["properties"] !== undefined || maxProperties !== undefined;
    // The length of any number is limited (NUMBER_LENGTH_MAX).
    return each === "integer" || each === "number" || each === "boolean" || each === "null";
  });
}

t.test("every body of the interface states how much it may hold", async (t) => {
  for (const { method, path, body } of ROUTES)
    t.same([...unlimited((body ?? { type: "null" }) as Node, "body")], [], `${method} ${path}`);
});

t.test("every tool states how much its arguments may hold", async (t) => {
  for (const [name, { input }] of Object.entries(MCP_TOOLS))
    t.same([...unlimited(input as unknown as Node, "arguments")], [], name);
});
