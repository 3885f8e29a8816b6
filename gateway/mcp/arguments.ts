/**
 * Arguments of a tool, read by its schema. A limit out of range is clamped, a limit of another type becomes the default; any
 * other argument of the wrong type is a failure that names the expected type. An id may be text, as models sometimes send it.
 * Null counts as absent. An undeclared argument is rejected: it is usually misspelt, and the call would do something other
 * than intended.
 */
import { isObject } from "./json-rpc.ts";
import { ToolFailure } from "./tool-failure.ts";

type TypeName = "string" | "integer" | "number" | "boolean" | "object" | "array";

/** The parts of an argument's schema that are used here. */
interface ArgumentSchema {
  /** One type, or several alternatives; any JSON value if absent. */
  type?: TypeName | readonly TypeName[];
  /** The allowed values. */
  enum?: readonly string[];
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  default?: unknown;
}

interface InputSchema {
  properties?: Readonly<Record<string, ArgumentSchema>>;
  required?: readonly string[];
}

const EXPECTED: Readonly<Record<TypeName, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list of strings",
};

const NAMES_SHOWN = 5;
const TEXT_LENGTH_SHOWN = 60;
const INTEGER_TEXT = /^[+-]?\d+$/;

/** The declared arguments, with defaults. Throws a ToolFailure. */
export function readArguments(schema: object, given: unknown): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as InputSchema;
  if (given !== undefined && given !== null && !isObject(given)) throw new ToolFailure(mismatch("arguments", "object"));
  const sent = isObject(given) ? given : {};
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(properties, name));
  if (unknown.length > 0) throw new ToolFailure(unknownArguments(unknown));
  const read: Record<string, unknown> = {};
  for (const [name, argument] of Object.entries(properties)) {
    const value = readArgument(name, argument, Object.hasOwn(sent, name) ? sent[name] : undefined, required.includes(name));
    if (value !== undefined) read[name] = value;
  }
  return read;
}

/** The names come from the caller: a few, truncated, are enough to find the mistake. */
function unknownArguments(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).map(shortened);
  const more = names.length - shown.length;
  return `unknown argument ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function shortened(text: string): string {
  return JSON.stringify(text.slice(0, TEXT_LENGTH_SHOWN));
}

function readArgument(name: string, schema: ArgumentSchema, given: unknown, required: boolean): unknown {
  const { type } = schema;
  // Any JSON value is allowed: null is a value, and also stands for an absent one.
  if (type === undefined) return given ?? null;
  if (isLimit(schema)) return inRange(schema, given);
  const value = type === "integer" && typeof given === "string" && INTEGER_TEXT.test(given) ? Number(given) : given;
  if (value === undefined || value === null || (required && value === "")) {
    if (required) throw new ToolFailure(type === "string" ? `${name} is required` : mismatch(name, type));
    return schema.default;
  }
  if (!namesOf(type).some((each) => hasType(each, value))) throw new ToolFailure(mismatch(name, type));
  if (typeof value === "string" && value.length > (schema.maxLength ?? value.length))
    throw new ToolFailure(`${name} must have at most ${schema.maxLength} characters`);
  if (typeof value === "string" && schema.enum?.includes(value) === false)
    throw new ToolFailure(`${name} must be one of ${schema.enum.join(", ")}, not ${shortened(value)}`);
  return value;
}

type Types = NonNullable<ArgumentSchema["type"]>;

function namesOf(type: Types): readonly TypeName[] {
  return typeof type === "string" ? [type] : type;
}

function mismatch(name: string, type: Types): string {
  return `${name} must be ${namesOf(type)
    .map((each) => EXPECTED[each])
    .join(" or ")}`;
}

type Limit = ArgumentSchema & { minimum: number; maximum: number; default: number };

function isLimit(schema: ArgumentSchema): schema is Limit {
  return schema.minimum !== undefined && schema.maximum !== undefined && typeof schema.default === "number";
}

function inRange({ minimum, maximum, default: standard }: Limit, value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) ? Math.min(Math.max(value, minimum), maximum) : standard;
}

function hasType(type: TypeName, value: unknown): boolean {
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "object") return isObject(value);
  if (type === "array") return Array.isArray(value) && value.every((each) => typeof each === "string");
  return typeof value === type;
}
