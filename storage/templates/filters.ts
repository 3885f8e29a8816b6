/**
 * The filters of templates: a closed list. No filter takes a pattern or calls anything, and each spends the cost of its
 * result before creating it.
 */
import { canonicalJson } from "#protocol/values/json";
import type { Budget } from "./budget.ts";
import { defined, isMap, itemsOf, printed, TemplateFailure, Undefined } from "./values.ts";

type Filter = (value: unknown, args: readonly unknown[], budget: Budget) => unknown;

function textOf(value: unknown, filter: string): string {
  if (typeof value !== "string") throw new TemplateFailure(`${filter} needs text`);
  return value;
}

function listOf(value: unknown, filter: string, budget: Budget): unknown[] {
  const items = itemsOf(value, budget);
  if (items === null) throw new TemplateFailure(`${filter} needs a list`);
  return items;
}

/** Sorted by `keyOf`; numbers before texts where both occur. */
function sortedBy<T>(items: readonly T[], keyOf: (item: T) => unknown, budget: Budget): T[] {
  const keyed = items.map((item) => {
    const key = keyOf(item);
    return { item, key: typeof key === "number" ? key : printed(key, budget) };
  });
  budget.spend(items.length * Math.ceil(Math.log2(items.length + 1)));
  const compare = (a: string | number, b: string | number): number => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item);
}

function titled(value: unknown, budget: Budget): string {
  const text = printed(value, budget);
  // Each character is looked up in Unicode tables.
  budget.spend(text.length);
  return text
    .toLowerCase()
    .replaceAll(/(^|[^\p{L}\p{N}'])(\p{L})/gu, (_all, before: string, letter: string) => before + letter.toUpperCase());
}

function joined(value: unknown, args: readonly unknown[], budget: Budget): string {
  const parts = listOf(value, "join", budget).map((each) => printed(each, budget));
  const separator = args[0] === undefined ? "" : printed(args[0], budget);
  budget.spendText(parts.length * separator.length);
  return parts.join(separator);
}

function replaced(value: unknown, args: readonly unknown[], budget: Budget): string {
  const text = printed(value, budget);
  const [from, to] = [textOf(args[0], "replace"), printed(args[1] ?? "", budget)];
  if (from === "") return text;
  const parts = text.split(from);
  budget.spend(parts.length);
  budget.spendText(parts.length * to.length);
  return parts.join(to);
}

function dictsorted(value: unknown, budget: Budget): [string, unknown][] {
  if (!isMap(value)) throw new TemplateFailure("dictsort needs a map");
  return sortedBy(Object.entries(value), ([key]) => key, budget);
}

function rounded(value: unknown, args: readonly unknown[]): number {
  if (typeof value !== "number") throw new TemplateFailure("round needs a number");
  const digits = typeof args[0] === "number" ? Math.max(0, Math.min(15, Math.trunc(args[0]))) : 0;
  return Number(`${Math.round(Number(`${value}e${digits}`))}e-${digits}`);
}

const FILTERS: Readonly<Record<string, Filter>> = {
  upper: (value, _args, budget) => printed(value, budget).toUpperCase(),
  lower: (value, _args, budget) => printed(value, budget).toLowerCase(),
  title: (value, _args, budget) => titled(value, budget),
  trim: (value, _args, budget) => printed(value, budget).trim(),
  length: (value, _args, budget) => listOf(value, "length", budget).length,
  join: joined,
  first: (value, _args, budget) => listOf(value, "first", budget).at(0) ?? new Undefined("first"),
  last: (value, _args, budget) => listOf(value, "last", budget).at(-1) ?? new Undefined("last"),
  replace: replaced,
  tojson: (value, _args, budget) => {
    budget.spendValue(value);
    return canonicalJson(value);
  },
  sort: (value, _args, budget) => sortedBy(listOf(value, "sort", budget), (item) => item, budget),
  dictsort: (value, _args, budget) => dictsorted(value, budget),
  round: rounded,
};

export const FILTER_NAMES: readonly string[] = [...Object.keys(FILTERS), "default"];

/** Applies a filter; only `default` accepts an undefined value. */
export function applyFilter(name: string, value: unknown, args: readonly unknown[], budget: Budget): unknown {
  if (name === "default") {
    const replacement = args[0] ?? "";
    return value instanceof Undefined || (args[1] === true && !value) ? replacement : value;
  }
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (filter === undefined) throw new TemplateFailure(`unknown filter "${name}"`);
  return filter(defined(value), args.map(defined), budget);
}
