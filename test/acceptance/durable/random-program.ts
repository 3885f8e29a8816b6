/** Programs of random shape for the flow `program`, what they need from outside, and their results. */
import type { Random } from "../../sim/random.ts";
import type { Part } from "../durable-flows/program.ts";

const DEPTH_MAX = 3;
const PARTS_MAX = 4;

type Kind = Part["kind"];
const LEAVES: Readonly<Partial<Record<Kind, number>>> = {
  step: 6,
  sleep: 2,
  flaky: 2,
  breaks: 3,
  twins: 2,
  caught: 2,
  event: 4,
  timeout: 2,
  input: 2,
  callback: 3,
  share: 2,
  nested: 2,
  plain: 1,
};
const BRANCHES: Readonly<Partial<Record<Kind, number>>> = {
  first: 3,
  alike: 4,
  all: 6,
  each: 2,
  child: 3,
  failing: 1,
  children: 2,
};

/** Kinds of parts that a program does not have. */
type Without = Readonly<Partial<Record<Kind, 0>>>;

/**
 * Without steps that fail for good: another attempt calls these again, so they end later than the outcomes that were stored after
 * them.
 */
const STEADY: Without = { caught: 0, breaks: 0 };

/** A retry by a person cancels the children that are under way, and has others in their place. */
export const CHILDLESS: Without = { child: 0, failing: 0, children: 0 };

export class RandomProgram {
  readonly #random: Random;
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  parts(without: Without = {}, depth = 0): Part[] {
    return Array.from({ length: this.#random.between(1, PARTS_MAX) }, () => this.#part(without, depth));
  }

  #part(without: Without, depth: number): Part {
    const kinds = { ...LEAVES, ...(depth < DEPTH_MAX ? BRANCHES : {}), ...without };
    const kind = this.#random.weighted(kinds as Record<Kind, number>);
    this.#count += 1;
    const key = `${kind}${this.#count}`;
    switch (kind) {
      case "step":
        return { kind, key, ms: this.#random.below(100) };
      case "timeout":
        return { kind, key, ms: this.#random.below(1_000) };
      case "sleep":
        // Longer ones park.
        return { kind, key, ms: this.#random.chance(0.5) ? this.#random.below(1_000) : 5_100 };
      case "flaky":
      case "breaks":
      case "twins":
      case "share":
      case "nested":
        return { kind, key, times: this.#random.between(1, 3) };
      case "first":
        return { kind, key, parts: [0, 1].map(() => this.#part({ ...without, ...STEADY }, DEPTH_MAX)) };
      case "alike":
        return { kind, key, parts: this.parts({ ...without, ...STEADY }, depth + 1) };
      case "all":
      case "each":
        return { kind, key, parts: this.parts(without, depth + 1) };
      case "child":
      case "failing":
      case "children":
        return { kind, key, parts: this.parts({}, depth + 1) };
      default:
        return { kind, key };
    }
  }
}

/** What the flow returns for its parts; of a race, all the results that it may have. */
export function resultOf(part: Part, path: string): unknown {
  const key = `${path}/${part.key}`;
  switch (part.kind) {
    case "step":
    case "sleep":
    case "caught":
    case "timeout":
      return part.key;
    case "flaky":
    case "breaks":
    case "plain":
      return key;
    case "twins":
      return Array.from({ length: part.times }, (_, n) => n);
    case "share":
      return Array.from({ length: part.times }, (_, n) => n);
    case "nested":
      return (part.times * (part.times - 1)) / 2;
    case "event":
    case "input":
    case "callback":
      return sentTo(key);
    case "first":
      return new OneOf(part.parts.map((each) => resultOf(each, path)));
    case "all":
    case "each":
      return part.parts.map((each) => resultOf(each, path));
    case "alike":
      return part.parts.map((_, n) => n);
    case "child":
      return part.parts.map((each) => resultOf(each, key));
    case "children":
      return part.parts.map((each, n) => [resultOf(each, `${key}/${n}`)]);
    case "failing":
      return "ChildFailed";
  }
}

/** Several results are possible. */
export class OneOf {
  readonly values: readonly unknown[];

  constructor(values: readonly unknown[]) {
    this.values = values;
  }
}

export function fits(found: unknown, expected: unknown): boolean {
  if (expected instanceof OneOf) return expected.values.some((value) => fits(found, value));
  if (!Array.isArray(expected)) return found === expected;
  return Array.isArray(found) && found.length === expected.length && expected.every((value, n) => fits(found[n], value));
}

/** The value that others send for a wait. */
export function sentTo(key: string): string {
  return `sent to ${key}`;
}

/** The events that a run of these parts waits for, once it has begun; those of its children apart. */
export function eventsOf(parts: readonly Part[], path: string): { name: string; key: string; value: unknown }[] {
  return parts.flatMap((part) => {
    const key = `${path}/${part.key}`;
    if (part.kind === "event") return [{ name: "go", key, value: sentTo(key) }];
    if (part.kind === "share") return Array.from({ length: part.times }, (_, value) => ({ name: "shared", key, value }));
    if (part.kind === "all" || part.kind === "each" || part.kind === "alike" || part.kind === "first")
      return eventsOf(part.parts, path);
    return [];
  });
}

/** The parts of each run of a program, by the path that the run notes when it begins. */
export function runsOf(parts: readonly Part[], path = ""): [path: string, parts: readonly Part[]][] {
  return [[path, parts], ...childrenOf(parts, path)];
}

function childrenOf(parts: readonly Part[], path: string): [string, readonly Part[]][] {
  return parts.flatMap((part) => {
    const key = `${path}/${part.key}`;
    if (part.kind === "child" || part.kind === "failing") return runsOf(part.parts, key);
    if (part.kind === "children") return part.parts.flatMap((each, n) => runsOf([each], `${key}/${n}`));
    if (part.kind === "all" || part.kind === "each" || part.kind === "alike") return childrenOf(part.parts, path);
    return [];
  });
}
