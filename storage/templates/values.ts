/** Values in templates and how they are printed: as in Python, which clients of this interface expect. */
import { isExactInteger } from "#protocol/values/json";
import type { Budget } from "./budget.ts";

/** The value of a name or attribute that does not exist: it can be tested and given a default, nothing else. */
export class Undefined {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** An error in a template, worded for the template's author. */
export class TemplateFailure extends Error {}

/** The value; throws if it is undefined. */
export function defined(value: unknown): unknown {
  if (value instanceof Undefined) throw new TemplateFailure(`undefined value: ${value.name}`);
  return value;
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactInteger(value);
}

/** The text of a value in output: None, True, [1, 'a' as "a"], {"k": "v"}, 1.5. */
export function printed(value: unknown, budget: Budget): string {
  budget.spendValue(defined(value));
  return typeof value === "string" ? value : nested(value);
}

/** True when both print the same; a number and its text differ. */
export function areEqual(left: unknown, right: unknown, budget: Budget): boolean {
  if (typeof left !== "object" || typeof right !== "object") {
    budget.spend(1);
    if (typeof left === "string") budget.spendText(left.length);
    return left === right;
  }
  budget.spendValue(left);
  budget.spendValue(right);
  return nested(left) === nested(right);
}

function nested(value: unknown): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(nested).join(", ")}]`;
  if (isExactInteger(value)) return value.rawJSON;
  if (isMap(value)) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, part]) => `${JSON.stringify(key)}: ${nested(part)}`).join(", ")}}`;
  }
  return String(value);
}

/** Empty texts, lists and maps, zero and null count as false. */
export function isTrue(value: unknown): boolean {
  defined(value);
  if (Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** The items that a loop or a list filter visits: items, characters or sorted keys. */
export function itemsOf(value: unknown, budget: Budget): unknown[] | null {
  if (Array.isArray(value)) {
    budget.spend(value.length);
    return value;
  }
  if (typeof value === "string") {
    budget.spend(value.length);
    return [...value];
  }
  if (!isMap(value)) return null;
  const keys = Object.keys(value).sort();
  budget.spend(keys.length);
  return keys;
}

/** An own member of a value: inherited members are out of reach. */
export function memberOf(value: unknown, key: unknown, budget: Budget): unknown {
  defined(value);
  defined(key);
  const name = typeof key === "string" || typeof key === "number" ? key : printed(key, budget);
  if (value === null) throw new TemplateFailure(`null has no ${String(name)}`);
  if (typeof value === "string" || Array.isArray(value)) {
    if (name === "length") return value.length;
    const index = typeof name === "number" ? name : /^-?\d+$/.test(name) ? Number(name) : Number.NaN;
    const found = value.at(Number.isInteger(index) ? index : Number.POSITIVE_INFINITY);
    return Number.isInteger(index) && found !== undefined ? found : new Undefined(String(name));
  }
  return isMap(value) && Object.hasOwn(value, name) ? value[name] : new Undefined(String(name));
}
