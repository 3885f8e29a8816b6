import type { Validator } from "typebox/compile";
import type { TLocalizedValidationError } from "typebox/error";
import { undeclaredParameter } from "#protocol/values/undeclared-parameter";
import { explainIssues, jsonSchemaOf, type StandardProps, standardOf } from "./standard-schema.ts";

/** A JSON Schema of an object, as it goes over the wire. */
export type JsonSchema = Record<string, unknown>;

/**
 * A run's parameters do not match the flow's schema.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, ParameterError, Type } from "millrace";
 *
 * const load = flow("load", { parameters: Type.Object({ rows: Type.Integer() }) }, async ({ rows }) => rows);
 *
 * const given = JSON.parse('{ "rows": "many" }');
 * await assert.rejects(load(given), (error) => error instanceof ParameterError && /rows/.test(error.message));
 * ```
 */
export class ParameterError extends Error {
  override name = "ParameterError";
}

/** The schema of a flow without declared parameters: it takes none. */
const NO_PARAMETERS: JsonSchema = { type: "object", properties: {} };

const TRUE_TEXT = new Set(["true", "1", "yes"]);
const FALSE_TEXT = new Set(["false", "0", "no"]);

/**
 * The plain JSON Schema of a declaration: a typebox schema, one of @sinclair/typebox, one of a library with the interface of
 * Standard Schema, or JSON Schema itself.
 * @param owner the owner of the schema, for its error
 * @param from the file of the declaration, null if unknown
 * @throws TypeError for a schema that does not describe an object, or that cannot be written as JSON Schema.
 */
export function plainSchema(declared: object | undefined, owner = "parameters", from: string | null = null): JsonSchema {
  if (declared === undefined) return NO_PARAMETERS;
  const standard = standardOf(declared);
  const described = standard === null ? declared : jsonSchemaOf(declared, standard, owner, from);
  const { $schema: _dialect, ...schema } = JSON.parse(JSON.stringify(described)) as JsonSchema;
  if (schema["type"] === undefined) schema["type"] = "object";
  if (schema["type"] !== "object") throw new TypeError("the schema of a flow's parameters describes an object");
  if (!Array.isArray(schema["required"])) return schema;
  // typebox lists a property with a default as required; a caller may omit it, so the server must not require it.
  const properties = recordOf(schema["properties"]);
  const required = schema["required"].filter((name) => recordOf(properties[String(name)])["default"] === undefined);
  delete schema["required"];
  return required.length === 0 ? schema : { ...schema, required };
}

/**
 * Checks the parameters of one flow against its whole schema, after filling in defaults and converting text to numbers and
 * booleans where the schema has those types (command lines and forms send text; the server accepts the same texts).
 */
export class ParameterChecker {
  readonly #schema: JsonSchema;
  readonly #validate: NonNullable<StandardProps["validate"]> | undefined;
  #validator: Promise<Validator> | undefined;

  /** @param declared what the schema was made of: a schema of another library checks its values itself */
  constructor(schema: JsonSchema, declared: object = {}) {
    this.#schema = schema;
    this.#validate = standardOf(declared)?.validate;
  }

  /** Compiles the schema ahead of the first check: the compiler alone takes some 100 ms to load. */
  async warm(): Promise<void> {
    if (this.#validate !== undefined || Object.keys(recordOf(this.#schema["properties"])).length === 0) return;
    this.#validator ??= compile(this.#schema);
    await this.#validator;
  }

  /** @throws ParameterError naming the parameter. */
  async prepare(given: Record<string, unknown>): Promise<Record<string, unknown>> {
    const values = (this.#validate === undefined ? withDefaults(this.#schema, given) : given) as Record<string, unknown>;
    const properties = recordOf(this.#schema["properties"]);
    if (this.#schema["additionalProperties"] === undefined && this.#schema["patternProperties"] === undefined) {
      const unknown = Object.keys(values).find((name) => !Object.hasOwn(properties, name));
      if (unknown !== undefined) throw new ParameterError(undeclaredParameter(unknown, Object.keys(properties)));
    }
    if (this.#validate !== undefined) return await this.#validated(this.#validate, values);
    // A flow without parameters needs no compiled schema, which costs milliseconds.
    if (Object.keys(properties).length === 0 && Object.keys(values).length === 0 && this.#schema["required"] === undefined) {
      return values;
    }
    this.#validator ??= compile(this.#schema);
    const validator = await this.#validator;
    const matches = validator.Check(values);
    if (matches) return values;
    const converted = readAs(this.#schema, values) as Record<string, unknown>;
    if (validator.Check(converted)) return converted;
    throw new ParameterError(explain(validator.Errors(converted)));
  }

  /** By the library of the schema, which also fills in defaults and may turn values into others. */
  async #validated(
    validate: NonNullable<StandardProps["validate"]>,
    values: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const result = await validate(values);
    if (result.issues === undefined) return result.value as Record<string, unknown>;
    const converted = await validate(readAs(this.#schema, values));
    if (converted.issues === undefined) return converted.value as Record<string, unknown>;
    throw new ParameterError(explainIssues(converted.issues));
  }
}

async function compile(schema: JsonSchema): Promise<Validator> {
  const { Compile } = await import("typebox/compile");
  return Compile(schema);
}

/** Fills in missing properties that have a default, also in nested objects. */
function withDefaults(schema: JsonSchema, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, property] of Object.entries(recordOf(schema["properties"]))) {
    const inner = recordOf(property);
    if (filled[name] === undefined && inner["default"] !== undefined) filled[name] = structuredClone(inner["default"]);
    else if (filled[name] !== undefined) filled[name] = withDefaults(inner, filled[name]);
  }
  return filled;
}

/** The value with each text converted to the schema's type, also in nested objects and lists. */
function readAs(schema: JsonSchema, value: unknown): unknown {
  if (typeof value === "string") return fromText(schema, value);
  if (typeof value !== "object" || value === null) return value;
  const [branch, ...others] = branchesOf(schema).filter(({ type }) => type !== "null");
  if (branch === undefined || others.length > 0) return value;
  if (Array.isArray(value)) return value.map((item) => readAs(recordOf(branch["items"]), item));
  const properties = recordOf(branch["properties"]);
  if (Object.keys(properties).length === 0) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, readAs(recordOf(properties[name]), part)]));
}

/** A text converted to the schema's type; the text itself if it does not fit. */
function fromText(schema: JsonSchema, text: string): unknown {
  for (const branch of branchesOf(schema)) {
    const value = converted(branch, text);
    if (value !== undefined) return value;
  }
  return text;
}

function converted(schema: JsonSchema, text: string): unknown {
  const plain = text.trim();
  switch (schema["type"]) {
    case "integer": {
      const value = Number(plain);
      return /^[+-]?\d+$/.test(plain) && Number.isSafeInteger(value) ? value : undefined;
    }
    case "number":
      return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : undefined;
    case "boolean":
      if (TRUE_TEXT.has(plain.toLowerCase())) return true;
      return FALSE_TEXT.has(plain.toLowerCase()) ? false : undefined;
    default:
      return undefined;
  }
}

function branchesOf(schema: JsonSchema): JsonSchema[] {
  const anyOf = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(anyOf) ? anyOf.map(recordOf) : [schema];
}

function recordOf(value: unknown): JsonSchema {
  return typeof value === "object" && value !== null ? (value as JsonSchema) : {};
}

/** One sentence per offending parameter: `day: must match format "date"`. */
function explain(errors: TLocalizedValidationError[]): string {
  const byPath = new Map<string, string[]>();
  for (const { instancePath, message } of errors) {
    const path = instancePath.slice(1).replaceAll("/", ".");
    byPath.set(path, [...(byPath.get(path) ?? []), message]);
  }
  return [...byPath].map(([path, messages]) => `${path === "" ? "" : `${path}: `}${messages.join(", ")}`).join("; ");
}
