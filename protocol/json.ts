/**
 * JSON that loses nothing: integers beyond 2^53 keep their digits, and free-form maps have one canonical text.
 *
 * Such an integer is held as the object that JSON.rawJSON makes; JSON.stringify writes its digits back.
 */

interface ReviverContext {
  /** The text of a primitive as it stood in the source. */
  source?: string;
}

/** Parts of the language that Node 22 has and the ES2024 types lack. */
interface JsonWithSource {
  rawJSON(text: string): { readonly rawJSON: string };
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
  parse(text: string, reviver: (this: unknown, key: string, value: unknown, context: ReviverContext) => unknown): unknown;
}

const json = JSON as unknown as JsonWithSource;

/**
 * Texts without such a run of digits hold no integer beyond 2^53 and are parsed the fast way.
 * Times in microseconds (16 digits, below 9 * 10^15 until the year 2255) and fractions stay on it.
 */
const MANY_DIGITS = /(?<![\d.])(?:9\d{15}|\d{17})/;
const INTEGER = /^-?\d+$/;

/** Values that hold at least one such integer, so that checks can tell without walking every value. */
const withExactIntegers = new WeakSet<object>();

/** Parses JSON text; throws SyntaxError as JSON.parse does. */
export function parseJson(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text);
  let found = false;
  const value = json.parse(text, (_key, part, context) => {
    if (typeof part !== "number" || Number.isSafeInteger(part)) return part;
    const { source } = context;
    if (source === undefined || !INTEGER.test(source)) return part;
    found = true;
    return json.rawJSON(source);
  });
  if (found && typeof value === "object" && value !== null) withExactIntegers.add(value);
  return value;
}

/** True when parseJson kept an integer beyond 2^53 somewhere in this value. */
export function hasExactIntegers(value: unknown): boolean {
  return typeof value === "object" && value !== null && withExactIntegers.has(value);
}

/** True for an integer beyond 2^53 as parseJson holds it. */
export function isExactInteger(value: unknown): value is { readonly rawJSON: string } {
  return json.isRawJSON(value);
}

/** A copy in which integers beyond 2^53 are the nearest numbers, for checks. */
export function roundIntegers(value: unknown): unknown {
  if (json.isRawJSON(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(roundIntegers);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, part] of Object.entries(value)) copy[key] = roundIntegers(part);
  return copy;
}

/**
 * The value in a form that survives postMessage: integers beyond 2^53 become bigints, which canonicalJson writes as
 * their digits. Values without such integers are returned as they are.
 */
export function toTransferable(value: unknown): unknown {
  return hasExactIntegers(value) ? withBigints(value) : value;
}

function withBigints(value: unknown): unknown {
  if (json.isRawJSON(value)) return BigInt(value.rawJSON);
  if (Array.isArray(value)) return value.map(withBigints);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withBigints(part)]));
}

/** JSON text with the keys of every object sorted by code unit: one text per value, as free-form maps are stored and sent. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value === "bigint") return json.rawJSON(String(value));
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || json.isRawJSON(value)) return value;
  const source = value as Record<string, unknown>;
  // No prototype: a key named __proto__ stays an ordinary key.
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(source).sort()) copy[key] = sorted(source[key]);
  return copy;
}
