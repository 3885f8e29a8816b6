/**
 * JSON without loss: integers beyond 2^53 keep their digits, and free-form maps have one canonical text.
 * Such an integer is held as the object that JSON.rawJSON creates; JSON.stringify writes its digits back.
 *
 * A number written like 2.0 stays a plain number, and its text is kept beside the object that holds it: such numbers are also
 * sent for times, amounts and options, which are calculated with. An object like that of an exact integer would have to be
 * unwrapped at each of these places, including free-form maps that the server reads (the options of a flow).
 */
import { randomBytes } from "node:crypto";
import { type JsonLimits, type JsonScanOptions, scanJson } from "./json-scan.ts";

/** Parts of the language that Node 22 has and the ES2024 types lack. */
interface JsonWithSource {
  rawJSON(text: string): { readonly rawJSON: string };
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}

const json = JSON as unknown as JsonWithSource;

/** Values that hold at least one such integer, so that checks need not walk every value. */
const withExactIntegers = new WeakSet<object>();

/** Where parseKeepingFractions found such a number: keys by the object or array that holds it. */
const wholeFractions = new WeakMap<object, Map<string, string>>();

/**
 * Parses JSON text. Throws SyntaxError like JSON.parse, for text nested deeper than 128 levels, and beyond the given limits.
 */
export function parseJson(text: string, limits: JsonLimits | null = null): unknown {
  return parse(text, { keepFractions: false, limits });
}

/**
 * Like parseJson, and records which whole numbers were written like 2.0 or 2e3, so that canonicalJson writes them back
 * unchanged and parameters can distinguish them from integers. Slower on texts with such numbers, so reports are read without
 * it.
 */
export function parseKeepingFractions(text: string, limits: JsonLimits | null = null): unknown {
  return parse(text, { keepFractions: true, limits });
}

/** Prefix of the strings that stand for numbers while JSON.parse runs. Random, so that no sender can write one. */
const MARK = randomBytes(9).toString("base64url");
const VISIBLE = { writable: true, enumerable: true, configurable: true };
const INTEGER = /^-?\d+$/;

function parse(text: string, options: JsonScanOptions): unknown {
  const exactNumbers = scanJson(text, options);
  if (exactNumbers.length === 0) return JSON.parse(text);
  // A reviver would get the text of each number too, at some twenty times the cost of JSON.parse.
  try {
    const holder = { value: JSON.parse(marked(text, exactNumbers)) as unknown };
    if (restoreNumbers(holder) && typeof holder.value === "object" && holder.value !== null) withExactIntegers.add(holder.value);
    return holder.value;
  } catch {
    // Malformed: the error must refer to the text that was sent.
    return JSON.parse(text);
  }
}

/** The text with each of these numbers in quotes, after the mark. */
function marked(text: string, numbers: readonly number[]): string {
  const parts: string[] = [];
  let copied = 0;
  for (let index = 0; index < numbers.length; index += 2) {
    const [from = 0, to = 0] = [numbers[index], numbers[index + 1]];
    parts.push(text.slice(copied, from), `"${MARK}`, text.slice(from, to), '"');
    copied = to;
  }
  parts.push(text.slice(copied));
  return parts.join("");
}

function isMarked(text: unknown): text is string {
  return typeof text === "string" && text.startsWith(MARK);
}

/** The number behind a mark. */
function restored(holder: object, key: string, mark: string): unknown {
  const source = mark.slice(MARK.length);
  if (INTEGER.test(source)) return json.rawJSON(source);
  rememberFraction(holder, key, source);
  return Number(source);
}

/** Restores the numbers in place of their marks. True if one of them is an exact integer. */
function restoreNumbers(holder: object): boolean {
  let exact = false;
  if (Array.isArray(holder)) {
    for (let index = 0; index < holder.length; index++) {
      const part: unknown = holder[index];
      if (typeof part === "object" && part !== null) exact = restoreNumbers(part) || exact;
      else if (isMarked(part)) holder[index] = restored(holder, String(index), part);
      exact ||= isExactInteger(holder[index]);
    }
    return exact;
  }
  const parts = holder as Record<string, unknown>;
  for (const key of Object.keys(parts)) {
    if (isMarked(key)) throw new SyntaxError("a number stands where a key is expected");
    const part = parts[key];
    if (typeof part === "object" && part !== null) exact = restoreNumbers(part) || exact;
    // Defined, not assigned: the key may be __proto__.
    else if (isMarked(part)) Object.defineProperty(holder, key, { ...VISIBLE, value: restored(holder, key, part) });
    exact ||= isExactInteger(parts[key]);
  }
  return exact;
}

function rememberFraction(holder: object, key: string, source: string): void {
  const keys = wholeFractions.get(holder);
  if (keys === undefined) wholeFractions.set(holder, new Map([[key, source]]));
  else keys.set(key, source);
}

/** True if the number under this key was written like 2.0 or 2e3 (known only for values of parseKeepingFractions). */
export function isWholeFraction(holder: object, key: string): boolean {
  return wholeFractions.get(holder)?.has(key) ?? false;
}

/** Sets a part of an object as it was written in another one. */
export function copyPart(from: object, key: string, to: object, toKey = key): void {
  Object.defineProperty(to, toKey, { ...VISIBLE, value: (from as Record<string, unknown>)[key] });
  const source = wholeFractions.get(from)?.get(key);
  if (source === undefined) wholeFractions.get(to)?.delete(toKey);
  else rememberFraction(to, toKey, source);
}

/** A new object with the parts of several, each as it was written; of parts with the same key, the last. */
export function mergeParts(...objects: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown> {
  let merged: Record<string, unknown> = {};
  const fractions = new Map<string, string>();
  for (const object of objects) {
    // Spread defines properties, so a key named __proto__ is treated like any other.
    merged = { ...merged, ...object };
    for (const key of fractions.keys()) if (Object.hasOwn(object, key)) fractions.delete(key);
    for (const [key, source] of wholeFractions.get(object) ?? []) fractions.set(key, source);
  }
  if (fractions.size > 0) wholeFractions.set(merged, fractions);
  return merged;
}

/** The canonical text of one part of an object, as it was written there. */
export function canonicalPart(holder: object, key: string): string {
  const part = (holder as Record<string, unknown>)[key];
  return fractionText(holder, key, part) ?? canonicalJson(part);
}

/** The text of a number that was written like 2.0; undefined for other values, and for a number that has replaced it. */
function fractionText(holder: object, key: string, part: unknown): string | undefined {
  const source = wholeFractions.get(holder)?.get(key);
  return source !== undefined && Number(source) === part ? source : undefined;
}

/** True if parseJson kept an integer beyond 2^53 somewhere in this value. */
export function hasExactIntegers(value: unknown): boolean {
  return typeof value === "object" && value !== null && withExactIntegers.has(value);
}

/** True for an integer beyond 2^53 in the form of parseJson. */
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
 * The value in a form that survives postMessage: integers beyond 2^53 become bigints, which canonicalJson writes as their
 * digits. Values without such integers are returned unchanged.
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

/**
 * JSON text with the keys of every object sorted by code unit: one text per value, the form in which free-form maps are stored
 * and sent.
 */
export function canonicalJson(value: unknown): string {
  return written(value, null) ?? "null";
}

/** Like canonicalJson, with line breaks and two spaces per level, for people and models. */
export function prettyJson(value: unknown): string {
  return written(value, "\n") ?? "null";
}

/**
 * The canonical text of a value; undefined for values that JSON omits. `newline` is the line break with the indentation of this
 * level, or null for no line breaks. Written in one pass, which costs a fraction of a sorted copy.
 */
function written(value: unknown, newline: string | null): string | undefined {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || json.isRawJSON(value)) return JSON.stringify(value);
  const fractions = wholeFractions.get(value);
  const inner = newline === null ? null : `${newline}  `;
  const textOf = (key: string, part: unknown): string | undefined =>
    (fractions === undefined ? undefined : fractionText(value, key, part)) ?? written(part, inner);
  let parts = "";
  const add = (part: string): void => {
    parts += `${parts === "" ? "" : ","}${inner ?? ""}${part}`;
  };
  if (Array.isArray(value))
    value.forEach((each, index) => {
      add(textOf(fractions === undefined ? "" : String(index), each) ?? "null");
    });
  else {
    const colon = newline === null ? ":" : ": ";
    const source = value as Record<string, unknown>;
    for (const key of Object.keys(source).sort()) {
      const part = textOf(key, source[key]);
      if (part !== undefined) add(`${JSON.stringify(key)}${colon}${part}`);
    }
  }
  const end = parts === "" ? "" : (newline ?? "");
  return Array.isArray(value) ? `[${parts}${end}]` : `{${parts}${end}}`;
}
