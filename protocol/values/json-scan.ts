/**
 * Checks of JSON text before it is parsed: whether the text stays within the limits, and where numbers are that parsing would
 * alter. Scans the text once, skipping strings; most texts need less.
 */
import { JSON_DEPTH_MAX, JSON_NEW_KEY_VALUES, JSON_VALUES_MAX, NUMBER_LENGTH_MAX } from "../limits.ts";

/** Limits of JSON text besides its bytes. */
export interface JsonLimits {
  /** Total number of values: scalars, arrays, objects and keys; the first occurrence of a key counts as several. */
  values: number;
  /** Characters of a number; numbers must also lie within the range of doubles. */
  numberLength: number;
}

/** For text that a client sent. */
export const SENT_JSON: JsonLimits = { values: JSON_VALUES_MAX, numberLength: NUMBER_LENGTH_MAX };

export interface JsonScanOptions {
  /** Also keep the text of whole numbers written like 2.0 or 2e3. */
  keepFractions: boolean;
  /** Null for text that the server wrote or checked before. */
  limits: JsonLimits | null;
}

/**
 * Begin and end, alternating, of each number whose text must be kept. Throws SyntaxError for text beyond a limit; leaves every
 * other error to JSON.parse.
 */
export function scanJson(text: string, { keepFractions, limits }: JsonScanOptions): number[] {
  const valuesMax = limits?.values ?? Number.POSITIVE_INFINITY;
  // No text counts as more values than it has characters: different keys have three on average.
  const countable = text.length > valuesMax || (text.length > JSON_DEPTH_MAX && hasMoreOpenings(text, JSON_DEPTH_MAX));
  const numbers =
    mayHoldLongInteger(text) || (limits !== null && mayHoldLargeExponent(text)) || (keepFractions && WHOLE_FRACTION.test(text));
  const exactNumbers: number[] = [];
  if (!countable && !numbers) return exactNumbers;
  let depth = 0;
  // Separators are counted instead of values: each value but the last of its container is followed by one.
  let values = 1;
  const keys = text.length > valuesMax ? new Set<string>() : null;
  /** Where the newest string starts, or a later colon. */
  let keyFrom = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      keyFrom = at;
      at = endOfString(text, at);
    } else if (code === COMMA) values = counted(values, 1, valuesMax);
    else if (code === COLON) {
      // Blanks may follow the key. In malformed text the slices must not overlap, or they would take quadratic time.
      values = counted(values, keys === null ? 1 : weightOf(text.slice(keyFrom, at).trimEnd(), keys), valuesMax);
      keyFrom = at;
    }
    // [ and {, ] and }: each pair differs in one bit.
    else if ((code | 0x20) === OPEN) {
      values = counted(values, 1, valuesMax);
      depth += 1;
      if (depth > JSON_DEPTH_MAX) throw new SyntaxError(`nested deeper than ${JSON_DEPTH_MAX} levels`);
    } else if ((code | 0x20) === CLOSE) depth -= 1;
    else if (numbers && (code === MINUS || isDigitCode(code))) {
      const end = endOfNumber(text, at);
      if (mustBeKept(text.slice(at, end), keepFractions, limits)) exactNumbers.push(at, end);
      at = end - 1;
    }
  }
  return exactNumbers;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const LOWER_E = 0x65;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const ZERO = 0x30;
const NINE = 0x39;

function counted(values: number, more: number, max: number): number {
  if (values + more > max)
    throw new SyntaxError(`it holds more than ${max} values (each different key counts as ${JSON_NEW_KEY_VALUES})`);
  return values + more;
}

/** The number of values that a key counts as; `keys` are the keys before it. */
function weightOf(key: string, keys: Set<string>): number {
  const before = keys.size;
  return keys.add(key).size > before ? JSON_NEW_KEY_VALUES : 1;
}

/**
 * A possible number such as 2.0 or 2e3: equal to an integer, written as a fraction or with an exponent. The expression includes
 * the character before the number, because hexadecimal ids are full of the rest.
 */
const WHOLE_FRACTION = /(?:^|[,:[\s])-?\d+(?:\.0+(?!\d)|(?:\.\d+)?[eE][-+]?\d)/;
/** The end of a possible number beyond the range of doubles (1e400). Hexadecimal ids hold it too. */
const LARGE_EXPONENT = /\d[eE](?:\d{3}|\+\d{3})/g;
/** What stands before a number, at the beginning of the text apart. */
const BEFORE_NUMBER = ",:[ \t\n\r";

/** Whether the text may hold a number beyond the range of doubles, which JSON.parse would turn into Infinity and so into null. */
function mayHoldLargeExponent(text: string): boolean {
  // Not matchAll, which takes four times as long.
  LARGE_EXPONENT.lastIndex = 0;
  for (let found = LARGE_EXPONENT.exec(text); found !== null; found = LARGE_EXPONENT.exec(text)) {
    let first = found.index;
    while (isDigitCode(text.charCodeAt(first - 1)) || text.charCodeAt(first - 1) === POINT) first -= 1;
    if (text.charCodeAt(first - 1) === MINUS) first -= 1;
    if (first === 0 || BEFORE_NUMBER.includes(text.charAt(first - 1))) return true;
  }
  return false;
}

/** Digits of the shortest integers beyond 2^53; those of this length begin with a 9. */
const LONG_INTEGER_DIGITS = 16;

/**
 * If false, the text holds no integer beyond 2^53 and is parsed the fast way; this covers times in microseconds (16 digits,
 * below 9 * 10^15 until the year 2255). Only every 16th character is checked: a run of 16 digits covers one of them.
 */
function mayHoldLongInteger(text: string): boolean {
  for (let at = LONG_INTEGER_DIGITS - 1; at < text.length; at += LONG_INTEGER_DIGITS) {
    if (!isDigitCode(text.charCodeAt(at))) continue;
    let first = at;
    let last = at;
    while (isDigitCode(text.charCodeAt(first - 1))) first -= 1;
    while (isDigitCode(text.charCodeAt(last + 1))) last += 1;
    const digits = last - first + 1;
    if (digits > LONG_INTEGER_DIGITS || (digits === LONG_INTEGER_DIGITS && text.charCodeAt(first) === NINE)) return true;
  }
  return false;
}

/** False outside the text, where the code is NaN. */
function isDigitCode(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** The position after the number that starts here. */
function endOfNumber(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (!isDigitCode(code) && code !== POINT && (code | 0x20) !== LOWER_E && code !== PLUS && code !== MINUS) return at;
  }
}

const INTEGER = /^-?\d+$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

function mustBeKept(source: string, keepFractions: boolean, limits: JsonLimits | null): boolean {
  if (limits !== null && source.length > limits.numberLength)
    throw new SyntaxError(`a number is longer than ${limits.numberLength} characters`);
  // JSON.parse reports any other error.
  if (!NUMBER.test(source)) return false;
  const value = Number(source);
  if (INTEGER.test(source)) return !Number.isSafeInteger(value);
  if (limits !== null && !Number.isFinite(value)) throw new SyntaxError(`the number ${source} is beyond ${Number.MAX_VALUE}`);
  return keepFractions && Number.isInteger(value);
}

/** Most texts have fewer brackets in total than the allowed levels; counting brackets is far cheaper than tracking them. */
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

/** Position of the quote that ends the string that starts here; the end of the text if there is none. */
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
