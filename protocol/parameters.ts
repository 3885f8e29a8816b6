/**
 * Checks run parameters against the schema of a flow, the way existing clients rely on: required, undeclared, and per
 * property `anyOf`, `enum` or `const`, else a single `type`. Numbers and booleans may be sent as text. Values are kept as
 * they were sent; what else a schema says (formats, bounds, items, patterns) is for the flow itself to check.
 */
import { canonicalJson, copyFractions, isExactInteger, isWholeFraction } from "./json.ts";
import type { JsonMap } from "./scalar.ts";

export type CheckedParameters = { ok: true; parameters: JsonMap } | { ok: false; error: string };

/** Fills the defaults of the schema and checks what was sent. The error names the parameter. */
export function checkParameters(schema: JsonMap | null | undefined, sent: JsonMap): CheckedParameters {
  const properties = propertiesOf(schema);
  for (const [name, value] of Object.entries(sent)) {
    if (!Object.hasOwn(properties, name)) return { ok: false, error: undeclared(name, Object.keys(properties)) };
    const property = properties[name];
    if (!fits(property, value, isWholeFraction(sent, name))) return { ok: false, error: misfit(name, property) };
  }
  // Spread defines properties, so a parameter named __proto__ is an ordinary one.
  const parameters = copyFractions(sent, { ...parameterDefaults(schema), ...sent });
  const missing = requiredOf(schema).find((name) => !Object.hasOwn(parameters, name));
  if (missing !== undefined) return { ok: false, error: `parameter "${missing}" is required` };
  return { ok: true, parameters };
}

/** Why a text is no value of a declared parameter; null when it is one. */
export function checkParameter(schema: JsonMap | null | undefined, name: string, value: string): string | null {
  const property = propertiesOf(schema)[name];
  return fits(property, value, false) ? null : misfit(name, property);
}

/** The defaults that a schema declares, by parameter. */
export function parameterDefaults(schema: JsonMap | null | undefined): JsonMap {
  const declared = Object.entries(propertiesOf(schema));
  return Object.fromEntries(
    declared.flatMap(([name, property]) =>
      isMap(property) && Object.hasOwn(property, "default") ? [[name, property["default"]]] : [],
    ),
  );
}

function propertiesOf(schema: JsonMap | null | undefined): JsonMap {
  const properties = schema?.["properties"];
  return isMap(properties) ? properties : {};
}

function requiredOf(schema: JsonMap | null | undefined): string[] {
  const required = schema?.["required"];
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function undeclared(name: string, declared: string[]): string {
  const takes = declared.length === 0 ? "the flow takes no parameters" : `the flow takes ${declared.join(", ")}`;
  return `parameter "${name}" is not declared; ${takes}`;
}

function misfit(name: string, property: unknown): string {
  return `parameter "${name}": expected ${describe(property)}`;
}

/** `fraction` is true for a number that was written like 2.0, which is no integer. */
function fits(property: unknown, value: unknown, fraction: boolean): boolean {
  if (!isMap(property)) return true;
  const { anyOf, enum: allowed, type } = property;
  if (Array.isArray(anyOf)) return anyOf.some((branch) => fits(branch, value, fraction));
  if (Array.isArray(allowed)) return allowed.some((each) => same(each, value));
  if (Object.hasOwn(property, "const")) return same(property["const"], value);
  return typeof type !== "string" || fitsType(type, value, fraction);
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
const NUMBER_TEXT = /^[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|infinity|nan)$/i;
const BOOLEAN_TEXT = /^(?:true|false|1|0|yes|no)$/i;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
/** Digits of the longest int64, with room for leading zeros; longer text is not worth converting. */
const INTEGER_TEXT_LENGTH_MAX = 40;

/** An integer of JSON, or text that reads as an int64. */
function isInteger(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (isExactInteger(value)) return within(value.rawJSON, UINT64_MAX);
  return typeof value === "string" && INTEGER_TEXT.test(value) && within(value, INT64_MAX);
}

function within(text: string, max: bigint): boolean {
  if (text.length > INTEGER_TEXT_LENGTH_MAX) return false;
  const exact = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return exact <= max && exact >= INT64_MIN;
}

function same(expected: unknown, value: unknown): boolean {
  return expected === value || canonicalJson(expected) === canonicalJson(value);
}

function describe(property: unknown): string {
  if (!isMap(property)) return "any value";
  const { anyOf, enum: allowed, type } = property;
  if (Array.isArray(anyOf)) return anyOf.map(describe).join(" or ");
  if (Array.isArray(allowed)) return `one of ${allowed.map((each) => canonicalJson(each)).join(", ")}`;
  if (Object.hasOwn(property, "const")) return canonicalJson(property["const"]);
  return String(type);
}

function isMap(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactInteger(value);
}
