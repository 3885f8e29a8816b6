/**
 * Requests as large as a limit allows in one place: each text, list, map and number of each body, each tool's arguments, each
 * query parameter and each header, filled with the values that are most expensive for a careless reader. Generated from the
 * interface description.
 */

import { BODY_BYTES_MAX } from "#protocol/limits";
import { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { openapiDocument } from "#protocol/routes/openapi";
import { ROUTES } from "#protocol/routes/routes";

type Node = Readonly<Record<string, unknown>>;

export interface LargeRequest {
  /** The place and its filling, for the report. */
  name: string;
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** In pieces, built when sent: all bodies together would not fit into memory. */
  body: (() => Buffer[]) | null;
}

/** Values that exist on the server, by the path parameter or field that accepts them. */
export type Known = Readonly<Record<string, unknown>>;

/** Room for the text around the filled place. */
const AROUND_BYTES = 4_096;
const FILL_BYTES = BODY_BYTES_MAX - AROUND_BYTES;
/** Larger header blocks are rejected by servers. */
const HEADER_FILL = 8_000;

/** Texts of a given length that are expensive for careless patterns and scans. */
const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  letters: (length) => "a".repeat(length),
  digits: (length) => "1".repeat(length),
  "inner spaces": (length) => `1${" ".repeat(length - 2)}x`,
  "template openings": (length) => "{{ a ".repeat(length / 5),
  commas: (length) => "a,".repeat(length / 2),
  quotes: (length) => `"\\`.repeat(length / 4),
  astral: (length) => "😀".repeat(length / 4),
};

/** JSON text of a value with about this many bytes. */
const VALUES: Readonly<Record<string, (bytes: number) => string>> = {
  "one integer": (bytes) => "1".repeat(bytes),
  "list of 1.0": (bytes) => `[${"1.0,".repeat(bytes / 4)}1]`,
  "list of integers": (bytes) => `[${"92345678901234567,".repeat(bytes / 18)}1]`,
  "list of texts": (bytes) => `[${'"t",'.repeat(bytes / 4)}"t"]`,
  "different texts": (bytes) =>
    `[${Array.from({ length: bytes / 12 }, (_, index) => `"t${String(index).padStart(8, "0")}"`).join(",")}]`,
  "list of objects": (bytes) => `[${'{"a":1},'.repeat(bytes / 8)}1]`,
  keys: (bytes) => objectOf(bytes / 13),
  // As many as a body may have: 200,000 values, of which a key and its value take six.
  "all keys allowed": (bytes) => objectOf(Math.min(33_000, bytes / 13)),
  "map of fractions": (bytes) => `{"a":[${"1.0,".repeat(bytes / 4 - 4)}1]}`,
  "map of integers": (bytes) => `{"a":${"1".repeat(bytes)}}`,
  "map of objects": (bytes) => `{"a":[${'{"a":1},'.repeat(bytes / 8 - 4)}1]}`,
  nested: (bytes) => `[${`${"[".repeat(100)}${"]".repeat(100)},`.repeat(bytes / 201)}1]`,
};

function objectOf(keys: number): string {
  return `{${Array.from({ length: keys }, (_, index) => `"k${String(index).padStart(7, "0")}":1`).join(",")}}`;
}

const documented = openapiDocument() as {
  paths: Record<string, Record<string, Node>>;
  components: { schemas: Record<string, Node> };
};

function bodySchema({ path, method }: (typeof ROUTES)[number]): Node {
  const operation = documented.paths[path]?.[method.toLowerCase()] as {
    requestBody: { content: Record<string, { schema: Node }> };
  };
  return operation.requestBody.content["application/json"]?.schema ?? {};
}

/** All requests; `sizes` are fractions of the limit, so that accepted and rejected sizes are tested. */
export function* largeRequests(known: Known, sizes: readonly number[] = [1, 0.12, 0.015]): Generator<LargeRequest> {
  for (const size of sizes) {
    const bytes = Math.floor(FILL_BYTES * size);
    for (const route of ROUTES) {
      if (!route.described || route.body === undefined) continue;
      const schema = bodySchema(route);
      for (const [name, body] of filledBodies(schema, known, bytes))
        yield {
          name: `${route.method} ${route.path} ${name}, ${bytes} bytes`,
          method: route.method,
          path: pathOf(route.path, known),
          headers: JSON_TYPE,
          body,
        };
    }
    for (const [tool, { input }] of Object.entries(MCP_TOOLS))
      for (const [name, body] of filledBodies(input as unknown as Node, known, bytes))
        yield {
          name: `tool ${tool} ${name}, ${bytes} bytes`,
          method: "POST",
          path: "/mcp",
          headers: JSON_TYPE,
          body: () => call(tool, body()),
        };
  }
  yield* largeHeads(known);
}

const JSON_TYPE = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function call(tool: string, args: Buffer[]): Buffer[] {
  const head = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":`;
  return [Buffer.from(head), ...args, Buffer.from("}}")];
}

/** Headers and query parameters of every route, with every text that a header can carry. */
function* largeHeads(known: Known): Generator<LargeRequest> {
  const texts = Object.entries(TEXTS).filter(([name]) => name !== "astral");
  for (const header of [
    "authorization",
    "host",
    "origin",
    "accept",
    "accept-encoding",
    "content-type",
    "idempotency-key",
    "last-event-id",
    "cookie",
    "mcp-session-id",
    "x-millrace-rule-depth",
  ])
    for (const [name, make] of texts) {
      const value = header === "authorization" ? `bearer a${make(HEADER_FILL)}b` : make(HEADER_FILL);
      for (const path of ["/api/runs", "/mcp", "/"])
        yield { name: `header ${header} of ${path}, ${name}`, method: "GET", path, headers: { [header]: value }, body: null };
    }
  for (const route of ROUTES) {
    const properties = (route.query as { properties?: Record<string, unknown> } | undefined)?.properties ?? {};
    for (const parameter of Object.keys(properties))
      for (const [name, make] of texts)
        yield {
          name: `${route.method} ${route.path} ?${parameter}, ${name}`,
          method: route.method,
          path: `${pathOf(route.path, known)}?${parameter}=${encodeURIComponent(make(HEADER_FILL / 4))}`,
          headers: {},
          body: null,
        };
  }
}

/** A small valid request to a route, about known records. */
export function sampleRequest(route: (typeof ROUTES)[number], known: Known): { path: string; body: unknown } {
  const path = pathOf(route.path, known);
  if (!route.described || route.body === undefined) return { path, body: undefined };
  return { path, body: sampleOf(bodySchema(route), known, "") };
}

function pathOf(path: string, known: Known): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => String(known[`${path.split("/")[2]}.${name}`] ?? known[name] ?? 1));
}

/** Bodies of a schema, each with one place filled. */
function* filledBodies(schema: Node, known: Known, bytes: number): Generator<[name: string, body: () => Buffer[]]> {
  const sample = sampleOf(schema, known, "");
  for (const place of placesOf(schema, "")) {
    for (const name of Object.keys(place.type === "string" ? TEXTS : VALUES))
      yield [`${place.path} filled with ${name}`, () => withValue(sample, place.path, filling(name, bytes))];
  }
}

/** The fillings of one size, kept because making one may take longer than the answer, and thousands of requests share them. */
const kept = { bytes: 0, fillings: new Map<string, Buffer>() };

function filling(name: string, bytes: number): Buffer {
  if (kept.bytes !== bytes) {
    kept.bytes = bytes;
    kept.fillings.clear();
  }
  const known = kept.fillings.get(name);
  if (known !== undefined) return known;
  const text = TEXTS[name];
  const made = Buffer.from(text === undefined ? (VALUES[name]?.(bytes) ?? "") : jsonText(text(bytes), bytes));
  kept.fillings.set(name, made);
  return made;
}

function jsonText(text: string, bytes: number): string {
  const json = JSON.stringify(text);
  return json.length <= bytes ? json : JSON.stringify(text.slice(0, text.length / 2));
}

const MARK = "the place that is filled";

function withValue(sample: unknown, path: string, json: Buffer): Buffer[] {
  if (path === "") return [json];
  const copy = structuredClone(sample) as Record<string, unknown>;
  const keys = path.split(".");
  let holder = copy;
  for (const key of keys.slice(0, -1)) {
    holder[key] ??= {};
    holder = holder[key] as Record<string, unknown>;
  }
  holder[keys.at(-1) ?? ""] = MARK;
  const [head = "", tail = ""] = JSON.stringify(copy).split(JSON.stringify(MARK));
  return [Buffer.from(head), json, Buffer.from(tail)];
}

interface Place {
  path: string;
  type: unknown;
}

/** Places of a schema with variable size; the first item of a list represents all items. */
function* placesOf(schema: Node, path: string): Generator<Place> {
  const node = resolved(schema);
  const branches = (node["anyOf"] ?? node["oneOf"]) as Node[] | undefined;
  if (branches !== undefined) {
    for (const branch of branches) if (branch["type"] !== "null") yield* placesOf(branch, path);
    return;
  }
  if (node["const"] !== undefined || node["enum"] !== undefined || node["type"] === "boolean") return;
  const { type, properties, items } = node as { type?: unknown; properties?: Record<string, Node>; items?: Node };
  yield { path, type };
  if (type === "object")
    for (const [name, property] of Object.entries(properties ?? {}))
      yield* placesOf(property, path === "" ? name : `${path}.${name}`);
  if (type === "array" && items !== undefined) yield* placesOf(items, `${path}.0`);
}

/** A small value that satisfies the schema. */
function sampleOf(schema: Node, known: Known, name: string): unknown {
  const node = resolved(schema);
  if (Object.hasOwn(known, name)) return known[name];
  if (node["const"] !== undefined) return node["const"];
  const allowed = node["enum"] as unknown[] | undefined;
  if (allowed !== undefined) return allowed[0];
  const branches = (node["anyOf"] ?? node["oneOf"]) as Node[] | undefined;
  if (branches !== undefined) return sampleOf(branches[0] ?? {}, known, name);
  const { properties = {}, required = [] } = node as { properties?: Record<string, Node>; required?: string[] };
  switch (node["type"]) {
    case "object":
      return Object.fromEntries(required.map((key) => [key, sampleOf(properties[key] ?? {}, known, key)]));
    case "array":
      return node["items"] === undefined ? [] : [sampleOf(node["items"] as Node, known, "")];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    default:
      return "a";
  }
}

function resolved(schema: Node): Node {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return resolved(documented.components.schemas[reference.split("/").at(-1) ?? ""] ?? {});
}
