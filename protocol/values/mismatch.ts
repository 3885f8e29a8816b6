/**
 * Describes where a value does not match a schema and what was expected there. Runs only after a compiled check failed, so it
 * is written for clear texts, not for speed. Supports the part of JSON Schema that our own schemas use.
 */

import { TO_COME } from "../routes/fields-to-come.ts";
import { exceedsCharacters } from "./text-length.ts";

type Node = Readonly<Record<string, unknown>>;

/** The first mismatch as `field: expected ...`, or null without one. */
export function explainMismatch(schema: object, value: unknown): string | null {
  const found = find(schema as Node, value, "");
  if (found === null) return null;
  return `${found.path === "" ? "body" : found.path}: ${found.text}`;
}

interface Mismatch {
  path: string;
  text: string;
}

function find(schema: Node, value: unknown, path: string): Mismatch | null {
  const union = schema["anyOf"];
  if (Array.isArray(union)) return findInUnion(union as Node[], value, path);
  if ("const" in schema) return value === schema["const"] ? null : { path, text: `expected ${JSON.stringify(schema["const"])}` };
  const allowed = schema["enum"];
  if (Array.isArray(allowed)) return allowed.includes(value) ? null : { path, text: `expected one of ${allowed.join(", ")}` };
  const type = schema["type"];
  if (schema[TO_COME] === true) return value === null ? null : { path, text: "not supported yet; leave it out" };
  if (typeof type === "string" && !hasType(value, type)) return { path, text: `expected ${type}` };
  if (typeof value === "number") return findInNumber(schema, value, path);
  if (typeof value === "string") return findInText(schema, value, path);
  if (Array.isArray(value)) return findInArray(schema, value, path);
  if (typeof value === "object" && value !== null) return findInObject(schema, value as Node, path);
  return null;
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function findInNumber(schema: Node, value: number, path: string): Mismatch | null {
  const { minimum, maximum } = schema;
  if (typeof minimum === "number" && value < minimum) {
    return { path, text: minimum === Number.MIN_SAFE_INTEGER ? "expected at least -(2^53 - 1)" : `expected at least ${minimum}` };
  }
  if (typeof maximum === "number" && value > maximum) {
    return { path, text: maximum === Number.MAX_SAFE_INTEGER ? "expected at most 2^53 - 1" : `expected at most ${maximum}` };
  }
  return null;
}

function findInText(schema: Node, value: string, path: string): Mismatch | null {
  const { minLength, maxLength, pattern, format } = schema;
  if (typeof minLength === "number" && value.length < minLength) {
    return { path, text: minLength === 1 ? "expected text that is not empty" : `expected at least ${minLength} characters` };
  }
  if (typeof maxLength === "number" && exceedsCharacters(value, maxLength))
    return { path, text: `expected at most ${maxLength} characters` };
  if (typeof pattern === "string" && !new RegExp(pattern, "u").test(value)) {
    return { path, text: format === "uuid" ? "expected a UUID" : `expected text that matches ${pattern}` };
  }
  return null;
}

function findInArray(schema: Node, value: unknown[], path: string): Mismatch | null {
  const { minItems, maxItems, items } = schema;
  if (typeof minItems === "number" && value.length < minItems) return { path, text: `expected at least ${minItems} items` };
  if (typeof maxItems === "number" && value.length > maxItems) return { path, text: `expected at most ${maxItems} items` };
  for (const [index, item] of value.entries()) {
    const each = Array.isArray(items) ? items[index] : items;
    const found = isNode(each) ? find(each, item, `${path}[${index}]`) : null;
    if (found !== null) return found;
  }
  return null;
}

function findInObject(schema: Node, value: Node, path: string): Mismatch | null {
  const properties = isNode(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [];
  for (const name of required) {
    if (!Object.hasOwn(value, name)) return { path: join(path, name), text: `is required${expectation(properties[name])}` };
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name) || !isNode(property)) continue;
    const found = find(property, value[name], join(path, name));
    if (found !== null) return found;
  }
  if (typeof schema["minProperties"] === "number" && Object.keys(value).length < schema["minProperties"]) {
    return { path, text: "expected at least one entry" };
  }
  const rest = schema["additionalProperties"];
  if (!isNode(rest)) return null;
  for (const name of Object.keys(value)) {
    const found = Object.hasOwn(properties, name) ? null : find(rest, value[name], join(path, name));
    if (found !== null) return found;
  }
  return null;
}

/**
 * A union of T and null is described as T; a union with a constant discriminator field by the branch that the value selects.
 */
function findInUnion(branches: Node[], value: unknown, path: string): Mismatch | null {
  const mismatches = branches.map((branch) => find(branch, value, path));
  if (mismatches.includes(null)) return null;
  const real = branches.filter((branch) => branch["type"] !== "null");
  const [only] = real;
  if (only !== undefined && real.length === 1) return find(only, value, path);
  const key = discriminator(real);
  if (key === null) return { path, text: `expected ${real.map((branch) => String(branch["type"] ?? "value")).join(" or ")}` };
  if (!hasType(value, "object")) return { path, text: "expected object" };
  const given = (value as Node)[key];
  const kinds = real.map((branch) => constantOf(branch, key));
  const meant = real[kinds.indexOf(given)];
  if (meant === undefined) return { path: join(path, key), text: `expected one of ${kinds.join(", ")}` };
  return find(meant, value, path);
}

/** The property that is a constant in every branch. */
function discriminator(branches: Node[]): string | null {
  const [first] = branches;
  const properties = isNode(first?.["properties"]) ? first["properties"] : {};
  const key = Object.keys(properties).find((name) => branches.every((branch) => constantOf(branch, name) !== undefined));
  return key ?? null;
}

function constantOf(branch: Node, name: string): unknown {
  const properties = branch["properties"];
  const property = isNode(properties) ? properties[name] : undefined;
  return isNode(property) ? property["const"] : undefined;
}

function expectation(property: unknown): string {
  if (!isNode(property)) return "";
  const type = property["type"];
  return typeof type === "string" ? ` (${type})` : "";
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
