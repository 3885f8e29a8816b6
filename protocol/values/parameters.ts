/**
 * Checks run parameters against the schema of a flow, and answers against that of their question, in the way existing clients
 * rely on: required, undeclared (of parameters), and per property `anyOf`, `enum` or `const`, else a single `type`, at every
 * level of objects. Numbers and booleans may be sent as text. Values are kept as sent; the flow itself checks everything else
 * in the schema (formats, bounds, items, patterns).
 */

import { JSON_DEPTH_MAX, SCHEMA_STEPS_MAX } from "../limits.ts";
import { canonicalJson, isExactInteger, isWholeFraction, mergeParts } from "./json.ts";
import type { JsonMap } from "./scalar.ts";
import { localSchema } from "./schema-reference.ts";
import { undeclaredParameter } from "./undeclared-parameter.ts";

export type CheckedParameters = { ok: true; parameters: JsonMap } | { ok: false; error: string };

/**
 * Fills in the defaults of the schema and checks the given parameters. The error names the parameter, below the first level by
 * its path.
 */
export function checkParameters(schema: JsonMap | null | undefined, sent: JsonMap): CheckedParameters {
  const check = new SchemaCheck(schema);
  const properties = propertiesOf(check.own);
  // Keys, not entries: a map may have very many, and an array for each would take five times as long.
  for (const name of Object.keys(sent)) {
    if (!Object.hasOwn(properties, name)) return { ok: false, error: undeclaredParameter(name, Object.keys(properties)) };
    const wrong = check.misfit(properties[name], sent[name], isWholeFraction(sent, name), name);
    if (wrong !== null) return { ok: false, error: `parameter ${check.sentence(wrong)}` };
  }
  const defaults = parameterDefaults(schema);
  const parameters = Object.keys(defaults).length === 0 ? sent : mergeParts(defaults, sent);
  const missing = requiredOf(check.own).find((name) => !Object.hasOwn(parameters, name));
  if (missing !== undefined) return { ok: false, error: `parameter "${missing}" is required` };
  return { ok: true, parameters };
}

/** Why a text is not a valid value of a declared parameter; null if it is. */
export function checkParameter(schema: JsonMap | null | undefined, name: string, value: string): string | null {
  const check = new SchemaCheck(schema);
  const wrong = check.misfit(propertiesOf(check.own)[name], value, false, name);
  return wrong === null ? null : `parameter ${check.sentence(wrong)}`;
}

/**
 * Why an answer does not fit the schema of its question; null if it fits, and for a question without a schema. Undeclared
 * properties are allowed, as in JSON Schema.
 */
export function checkAnswer(schema: unknown, answer: unknown): string | null {
  const check = new SchemaCheck(schema);
  // The defaults of the question fill in what the answer omits.
  const given = isMap(check.own) && isMap(answer) ? mergeParts(parameterDefaults(check.own), answer) : answer;
  const wrong = check.misfit(schema, given, false, "");
  return wrong === null ? null : `answer${wrong.path === "" ? "" : " "}${check.sentence(wrong)}`;
}

/**
 * A place where a value does not match its schema: the error, or the schema that does not match. Only the last one is put into
 * words.
 */
interface Misfit {
  path: string;
  wrong: "is required" | "is not declared" | JsonMap;
}

/** One check by one schema: resolves the schema's references to itself, within a bounded amount of work. */
class SchemaCheck {
  /** The schema itself, with its own reference resolved. */
  readonly own: JsonMap | null;
  readonly #root: unknown;
  #steps = 0;

  constructor(schema: unknown) {
    this.#root = schema;
    const own = localSchema(schema, schema);
    this.own = isMap(own) ? own : null;
  }

  /** The error in words; the path of the value itself is empty. */
  sentence({ path, wrong }: Misfit): string {
    const place = path === "" ? "" : `"${path}"`;
    return typeof wrong === "string" ? `${place} ${wrong}` : `${place}: expected ${this.#describe(wrong, DESCRIBED_LEVELS)}`;
  }

  /** The error in a value; `fraction` is true for a number written like 2.0, which is not an integer. */
  misfit(schema: unknown, value: unknown, fraction: boolean, path: string, level = 0): Misfit | null {
    const resolved = localSchema(this.#root, schema);
    this.#steps += 1;
    // The flow checks what the server leaves unchecked.
    if (!isMap(resolved) || this.#steps > SCHEMA_STEPS_MAX || level > LEVELS_MAX) return null;
    const { anyOf, enum: allowed, type } = resolved;
    if (Array.isArray(allowed)) this.#steps += allowed.length;
    const fits = Array.isArray(anyOf)
      ? anyOf.some((branch) => this.misfit(branch, value, fraction, path, level + 1) === null)
      : Array.isArray(allowed)
        ? allowed.some((each) => same(each, value))
        : Object.hasOwn(resolved, "const")
          ? same(resolved["const"], value)
          : typeof type !== "string" || fitsType(type, value, fraction);
    if (!fits) return { path, wrong: resolved };
    return isMap(value) && !Array.isArray(anyOf) ? this.#misfitWithin(resolved, value, path, level + 1) : null;
  }

  #misfitWithin(schema: JsonMap, value: JsonMap, path: string, level: number): Misfit | null {
    const at = (name: string): string => (path === "" ? name : `${path}.${name}`);
    const properties = propertiesOf(schema);
    const required = requiredOf(schema);
    const names = Object.keys(value);
    this.#steps += required.length + names.length;
    const missing = required.find((name) => !Object.hasOwn(value, name) && !this.#hasDefault(properties, name));
    if (missing !== undefined) return { path: at(missing), wrong: "is required" };
    for (const name of names) {
      if (!Object.hasOwn(properties, name)) {
        // An object allows further properties unless its schema forbids them.
        if (schema["additionalProperties"] === false && !Object.hasOwn(schema, "patternProperties"))
          return { path: at(name), wrong: "is not declared" };
        continue;
      }
      const wrong = this.misfit(properties[name], value[name], isWholeFraction(value, name), at(name), level);
      if (wrong !== null) return wrong;
    }
    return null;
  }

  /** The flow fills the default in, also below the first level. */
  #hasDefault(properties: JsonMap, name: string): boolean {
    const property = Object.hasOwn(properties, name) ? properties[name] : null;
    const target = localSchema(this.#root, property);
    return [property, target].some((schema) => isMap(schema) && Object.hasOwn(schema, "default"));
  }

  #describe(schema: unknown, levels: number): string {
    const resolved = localSchema(this.#root, schema);
    if (!isMap(resolved)) return "any value";
    const { anyOf, enum: allowed, type } = resolved;
    if (Array.isArray(anyOf))
      return levels === 0 ? "another value" : anyOf.map((each) => this.#describe(each, levels - 1)).join(" or ");
    if (Array.isArray(allowed)) return `one of ${allowed.map((each) => canonicalJson(each)).join(", ")}`;
    if (Object.hasOwn(resolved, "const")) return canonicalJson(resolved["const"]);
    return typeof type === "string" ? type : "another value";
  }
}

/** Nested branches are described only to this level, so that the message stays short. */
const DESCRIBED_LEVELS = 2;
/** Levels of nested objects and branches: bodies have fewer (JSON_DEPTH_MAX), a cycle of branches has no end. */
const LEVELS_MAX = 2 * JSON_DEPTH_MAX;

/** The defaults that a schema declares, by parameter. */
export function parameterDefaults(schema: JsonMap | null | undefined): JsonMap {
  const declared = Object.entries(propertiesOf(localSchema(schema, schema)));
  return Object.fromEntries(
    declared.flatMap(([name, property]) =>
      isMap(property) && Object.hasOwn(property, "default") ? [[name, property["default"]]] : [],
    ),
  );
}

function propertiesOf(schema: unknown): JsonMap {
  const properties = isMap(schema) ? schema["properties"] : null;
  return isMap(properties) ? properties : {};
}

function requiredOf(schema: unknown): string[] {
  const required = isMap(schema) ? schema["required"] : null;
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function fitsType(type: string, value: unknown, fraction: boolean): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "array":
      return Array.isArray(value);
    case "object":
      return isMap(value);
    case "null":
      return value === null;
    case "integer":
      return !fraction && isInteger(value);
    case "number":
      return typeof value === "number" || isExactInteger(value) || (typeof value === "string" && NUMBER_TEXT.test(value));
    case "boolean":
      return typeof value === "boolean" || (typeof value === "string" && BOOLEAN_TEXT.test(value));
    default:
      return true;
  }
}

const INTEGER_TEXT = /^[+-]?\d+$/;
const NUMBER_TEXT = /^\s*[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|infinity|nan)\s*$/i;
const BOOLEAN_TEXT = /^(?:true|false|1|0|yes|no)$/i;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
/** Digits of the longest int64, with room for leading zeros; longer text is rejected without conversion. */
const INTEGER_TEXT_LENGTH_MAX = 40;

/** A JSON integer, or text that reads as an int64. */
function isInteger(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (isExactInteger(value)) return within(value.rawJSON, UINT64_MAX);
  if (typeof value !== "string" || value.length > INTEGER_TEXT_LENGTH_MAX) return false;
  const text = value.trim();
  return INTEGER_TEXT.test(text) && within(text, INT64_MAX);
}

function within(text: string, max: bigint): boolean {
  if (text.length > INTEGER_TEXT_LENGTH_MAX) return false;
  const exact = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return exact <= max && exact >= INT64_MIN;
}

function same(expected: unknown, value: unknown): boolean {
  return expected === value || canonicalJson(expected) === canonicalJson(value);
}

function isMap(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactInteger(value);
}
