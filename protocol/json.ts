/**
 * JSON that loses nothing: integers beyond 2^53 keep their digits, and free-form maps have one canonical text.
 *
 * Such an integer is held as the object that JSON.rawJSON makes; JSON.stringify writes its digits back.
 */
import { JSON_DEPTH_MAX } from "./limits.ts";

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

const INTEGER = /^-?\d+$/;

/** Values that hold at least one such integer, so that checks can tell without walking every value. */
const withExactIntegers = new WeakSet<object>();

/** What may be a number such as 2.0 or 2e3: equal to an integer, written as a fraction or with an exponent. */
const WHOLE_FRACTION = /\d\.0+(?!\d)|\d[eE][-+]?\d/;
const FRACTION_OR_EXPONENT = /[.eE]/;

/** Where parseKeepingFractions saw such a number: keys by the object or array that holds it. */
const wholeFractions = new WeakMap<object, Map<string, string>>();

/** Parses JSON text; throws SyntaxError as JSON.parse does, and for text nested deeper than 128 levels. */
export function parseJson(text: string): unknown {
  return parse(text, false);
}

/**
 * As parseJson, and remembers which whole numbers were written like 2.0 or 2e3, so that canonicalJson writes them back as they
 * came and parameters can tell them from integers. Slower on texts that hold such numbers, so reports are read without it.
 */
export function parseKeepingFractions(text: string): unknown {
  return parse(text, WHOLE_FRACTION.test(text));
}

function parse(text: string, keepFractions: boolean): unknown {
  if (exceedsDepth(text, JSON_DEPTH_MAX)) throw new SyntaxError(`nested deeper than ${JSON_DEPTH_MAX} levels`);
  if (!keepFractions && !mayHoldLongInteger(text)) return JSON.parse(text);
  let found = false;
  const value = json.parse(text, function (key, part, { source }) {
    if (typeof part !== "number" || source === undefined) return part;
    if (!Number.isSafeInteger(part) && INTEGER.test(source)) {
      found = true;
      return json.rawJSON(source);
    }
    if (keepFractions && Number.isInteger(part) && FRACTION_OR_EXPONENT.test(source))
      rememberFraction(this as object, key, source);
    return part;
  });
  if (found && typeof value === "object" && value !== null) withExactIntegers.add(value);
  return value;
}

/** Digits of the shortest integers beyond 2^53; those of this length begin with a 9. */
const LONG_INTEGER_DIGITS = 16;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * Texts for which this is false hold no integer beyond 2^53 and are parsed the fast way; times in microseconds (16 digits, below
 * 9 * 10^15 until the year 2255) stay on it. Only every 16th character is looked at: a run of 16 digits covers one of them.
 */
function mayHoldLongInteger(text: string): boolean {
  for (let at = LONG_INTEGER_DIGITS - 1; at < text.length; at += LONG_INTEGER_DIGITS) {
    if (!isDigit(text, at)) continue;
    let first = at;
    let last = at;
    while (isDigit(text, first - 1)) first -= 1;
    while (isDigit(text, last + 1)) last += 1;
    const digits = last - first + 1;
    if (digits > LONG_INTEGER_DIGITS || (digits === LONG_INTEGER_DIGITS && text.charCodeAt(first) === NINE)) return true;
  }
  return false;
}

/** False outside the text, where the code is NaN. */
function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= ZERO && code <= NINE;
}

function rememberFraction(holder: object, key: string, source: string): void {
  const keys = wholeFractions.get(holder);
  if (keys === undefined) wholeFractions.set(holder, new Map([[key, source]]));
  else keys.set(key, source);
}

/** True when the number under this key was written like 2.0 or 2e3 (known only for values of parseKeepingFractions). */
export function isWholeFraction(holder: object, key: string): boolean {
  return wholeFractions.get(holder)?.has(key) ?? false;
}

/** Lets a copy of an object write its fractions as the original does, as far as it has the same numbers; returns the copy. */
export function copyFractions<Copy extends object>(from: object, to: Copy): Copy {
  const keys = wholeFractions.get(from);
  if (keys !== undefined) wholeFractions.set(to, keys);
  return to;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** True when arrays and objects are nested deeper than the limit. Reads the text once, jumping over strings. */
function exceedsDepth(text: string, levelsMax: number): boolean {
  if (text.length <= levelsMax || !hasMoreOpenings(text, levelsMax)) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    // [ and {, ] and }: each pair differs in one bit.
    else if ((code | 0x20) === 0x7b) {
      depth += 1;
      if (depth > levelsMax) return true;
    } else if ((code | 0x20) === 0x7d) depth -= 1;
  }
  return false;
}

/** Most texts have fewer brackets in all than the levels allowed; counting them is far cheaper than following them. */
function hasMoreOpenings(text: string, max: number): boolean {
  let left = max;
  for (const opening of ["{", "["]) {
    for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, at + 1)) {
      left -= 1;
      if (left < 0) return true;
    }
  }
  return false;
}

/** Position of the quote that ends the string which starts here; the end of the text when none does. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
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

/** As canonicalJson, with line breaks and two spaces per level, for people and models to read. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(sorted(value), null, 2);
}

function sorted(value: unknown): unknown {
  if (typeof value === "bigint") return json.rawJSON(String(value));
  if (typeof value !== "object" || value === null || json.isRawJSON(value)) return value;
  const fractions = wholeFractions.get(value);
  const part = (key: string, each: unknown): unknown => {
    const source = fractions?.get(key);
    return source !== undefined && Number(source) === each ? json.rawJSON(source) : sorted(each);
  };
  if (Array.isArray(value)) return value.map((each, index) => part(String(index), each));
  const source = value as Record<string, unknown>;
  // No prototype: a key named __proto__ stays an ordinary key.
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(source).sort()) copy[key] = part(key, source[key]);
  return copy;
}
