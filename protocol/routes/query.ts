/**
 * Reads query strings and path parameters. Unknown names are ignored. A name given twice, an invalid number, a negative limit,
 * a text that is too long and a boolean other than true or false are 400; a limit above its maximum is lowered silently.
 */
import type { Static, TSchema } from "typebox";
import { type Refusal, refuse } from "../errors.ts";
import { PARAMETER_FILTERS_MAX, SEARCH_LENGTH_MAX } from "../limits.ts";
import { LOG_LEVELS } from "../records/log.ts";

/** Format of a property whose values come as fields `name.KEY=VALUE`. */
export const NAMED_VALUES = "named-values";
const INTEGER = /^-?\d+$/;
const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

export type ParsedQuery<T> = { ok: true; query: T } | { ok: false; refusal: Refusal };

interface PropertySchema {
  type?: string;
  format?: string;
  enum?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

/** Reads the query string (without `?`) by the properties of the schema; fills defaults. */
export function parseQuery<S extends TSchema>(schema: S, text: string): ParsedQuery<Static<S>> {
  const given = new URLSearchParams(text);
  const query: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (property.format === NAMED_VALUES) {
      const named = parseNamedValues(name, given);
      if (!named.ok) return named;
      if (Object.keys(named.query).length > 0) query[name] = named.query;
      continue;
    }
    const [value, second] = given.getAll(name);
    if (second !== undefined) return { ok: false, refusal: refuse("repeated_query", name) };
    if (value === undefined) {
      if (property.default !== undefined) query[name] = property.default;
      continue;
    }
    const parsed = parseValue(name, property, value);
    if (!parsed.ok) return parsed;
    query[name] = parsed.query;
  }
  return { ok: true, query: query as Static<S> };
}

function propertiesOf(schema: TSchema): Record<string, PropertySchema> {
  return (schema as { properties?: Record<string, PropertySchema> }).properties ?? {};
}

function parseValue(name: string, property: PropertySchema, text: string): ParsedQuery<unknown> {
  if (property.type === "integer") return parseInteger(name, property, text);
  if (property.type === "boolean") {
    if (text === "true" || text === "false") return { ok: true, query: text === "true" };
    return { ok: false, refusal: refuse("bad_query", name, "true or false") };
  }
  if (property.format === "log-level") return parseLevel(text);
  if (property.format === "comma-list") {
    return {
      ok: true,
      query: text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
    };
  }
  // An unknown word of a closed list means the default, as for `sort`.
  if (property.enum !== undefined && !property.enum.includes(text)) return { ok: true, query: property.default };
  if (property.maxLength !== undefined && text.length > property.maxLength)
    return { ok: false, refusal: refuse("bad_query", name, `a text of at most ${property.maxLength} characters`) };
  return { ok: true, query: text };
}

/** The values of all query fields whose names begin with `name` and a dot. */
function parseNamedValues(name: string, given: URLSearchParams): ParsedQuery<Record<string, string>> {
  const values = new Map<string, string>();
  for (const [field, value] of given) {
    if (!field.startsWith(`${name}.`)) continue;
    const key = field.slice(name.length + 1);
    if (values.has(key)) return { ok: false, refusal: refuse("repeated_query", field) };
    // Such a name cannot stand in the path by which a store looks it up.
    if (key === "" || /["\\]/.test(key))
      return { ok: false, refusal: refuse("bad_query", field, "a name without quotation marks and backslashes") };
    if (value.length > SEARCH_LENGTH_MAX)
      return { ok: false, refusal: refuse("bad_query", field, `a text of at most ${SEARCH_LENGTH_MAX} characters`) };
    values.set(key, value);
  }
  if (values.size > PARAMETER_FILTERS_MAX)
    return { ok: false, refusal: refuse("bad_query", `${name}.*`, `at most ${PARAMETER_FILTERS_MAX} of them`) };
  return { ok: true, query: Object.fromEntries(values) };
}

function parseInteger(name: string, { minimum, maximum, format }: PropertySchema, text: string): ParsedQuery<number> {
  const value = readInt64(text);
  if (value === null) return { ok: false, refusal: refuse("bad_query", name, "an integer") };
  // Filters and cursors (int64) take any value; values beyond 2^53 are rounded, which affects no stored id or time.
  if (format === "int64" || minimum === undefined || maximum === undefined) return { ok: true, query: value };
  if (value < 0) return { ok: false, refusal: refuse("bad_query", name, `an integer from ${minimum} to ${maximum}`) };
  return { ok: true, query: Math.min(Math.max(value, minimum), maximum) };
}

/** A number, or a level word in any case; empty means every level, an unknown word is 422. */
function parseLevel(text: string): ParsedQuery<number | undefined> {
  if (text === "") return { ok: true, query: undefined };
  const word = text.toUpperCase();
  if (Object.hasOwn(LOG_LEVELS, word)) return { ok: true, query: LOG_LEVELS[word as keyof typeof LOG_LEVELS] };
  const value = readInt64(text);
  if (value !== null) return { ok: true, query: value };
  return { ok: false, refusal: refuse("unknown_level", text) };
}

/** A decimal int64 as a number (rounded beyond 2^53), or null for other text. */
function readInt64(text: string): number | null {
  if (!INTEGER.test(text)) return null;
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  if (text.length > 24) return null;
  const exact = BigInt(text);
  return exact > INT64_MAX || exact < INT64_MIN ? null : value;
}

export type ParsedId = { ok: true; id: number } | { ok: false; refusal: Refusal };

/** Reads an int64 of the path. Text that is not an int64 is 400; beyond 2^53 no record can have that id: 404. */
export function parsePathId(name: string, text: string): ParsedId {
  const value = readInt64(text);
  if (value === null) return { ok: false, refusal: refuse("bad_path", name) };
  if (!Number.isSafeInteger(value)) return { ok: false, refusal: refuse("not_found") };
  return { ok: true, id: value };
}
