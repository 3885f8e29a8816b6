/** The filters of templates: a closed list. None takes a pattern, calls anything or grows its input beyond the budget. */
import { canonicalJson } from "#protocol/json";
import { defined, printed, TemplateFailure, Undefined } from "./values.ts";

type Filter = (value: unknown, args: readonly unknown[]) => unknown;

function textOf(value: unknown, filter: string): string {
  if (typeof value !== "string") throw new TemplateFailure(`${filter} needs text`);
  return value;
}

function listOf(value: unknown, filter: string): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return [...value];
  if (typeof value === "object" && value !== null) return Object.keys(value).sort();
  throw new TemplateFailure(`${filter} needs a list`);
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [printed(a), printed(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function replaced(value: unknown, args: readonly unknown[]): string {
  const text = printed(value);
  const [from, to] = [textOf(args[0], "replace"), printed(args[1] ?? "")];
  return from === "" ? text : text.split(from).join(to);
}

function rounded(value: unknown, args: readonly unknown[]): number {
  if (typeof value !== "number") throw new TemplateFailure("round needs a number");
  const digits = typeof args[0] === "number" ? Math.max(0, Math.min(15, Math.trunc(args[0]))) : 0;
  return Number(`${Math.round(Number(`${value}e${digits}`))}e-${digits}`);
}

const FILTERS: Readonly<Record<string, Filter>> = {
  upper: (value) => printed(value).toUpperCase(),
  lower: (value) => printed(value).toLowerCase(),
  title: (value) =>
    printed(value)
      .toLowerCase()
      .replaceAll(/(^|[^\p{L}\p{N}'])(\p{L})/gu, (_all, before: string, letter: string) => before + letter.toUpperCase()),
  trim: (value) => printed(value).trim(),
  length: (value) => listOf(value, "length").length,
  join: (value, args) =>
    listOf(value, "join")
      .map(printed)
      .join(args[0] === undefined ? "" : printed(args[0])),
  first: (value) => listOf(value, "first").at(0) ?? new Undefined("first"),
  last: (value) => listOf(value, "last").at(-1) ?? new Undefined("last"),
  replace: replaced,
  tojson: (value) => canonicalJson(value),
  sort: (value) => listOf(value, "sort").toSorted(compare),
  dictsort: (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TemplateFailure("dictsort needs a map");
    return Object.entries(value).sort(([a], [b]) => compare(a, b));
  },
  round: rounded,
};

export const FILTER_NAMES: readonly string[] = [...Object.keys(FILTERS), "default"];

/** Applies a filter; only `default` takes what is undefined. */
export function applyFilter(name: string, value: unknown, args: readonly unknown[]): unknown {
  if (name === "default") {
    const replacement = args[0] ?? "";
    return value instanceof Undefined || (args[1] === true && !value) ? replacement : value;
  }
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (filter === undefined) throw new TemplateFailure(`unknown filter "${name}"`);
  return filter(defined(value), args.map(defined));
}
