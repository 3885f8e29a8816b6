/** Random parts of runs, and what follows from them: results, task runs, log lines and artifacts. */
import type { Random } from "../../sim/random.ts";
import type { Part } from "../ordinary-flows/parts.ts";

const DEPTH_MAX = 2;
const PARTS_MAX = 4;
const LINES_MAX = 60;
const ITEMS_MAX = 30;

type Kind = Part["kind"];
const LEAVES: Readonly<Partial<Record<Kind, number>>> = {
  work: 6,
  compute: 3,
  flaky: 3,
  caught: 2,
  late: 1,
  map: 3,
  gpu: 2,
  leased: 2,
  cached: 2,
  lines: 4,
  printed: 3,
  artifact: 2,
  nested: 2,
};
const GROUPS: Readonly<Partial<Record<Kind, number>>> = { all: 4, each: 3 };

export class RandomParts {
  readonly #random: Random;
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  parts(depth = 0): Part[] {
    return Array.from({ length: this.#random.between(1, PARTS_MAX) }, () => this.#part(depth));
  }

  #part(depth: number): Part {
    const random = this.#random;
    const kinds = { ...LEAVES, ...(depth < DEPTH_MAX ? GROUPS : {}) };
    const kind = random.weighted(kinds as Record<Kind, number>);
    this.#count += 1;
    const key = `${kind}${this.#count}`;
    switch (kind) {
      case "work":
      case "gpu":
      case "leased":
        return { kind, key, ms: random.below(200) };
      case "compute":
        return { kind, key, ms: random.below(100) };
      case "flaky":
      case "nested":
        return { kind, key, times: random.between(1, 4) };
      case "lines":
      case "printed":
        return { kind, key, times: random.between(1, LINES_MAX) };
      case "map":
        return {
          ...{ kind, key, times: random.between(0, ITEMS_MAX) },
          ...{ concurrency: random.between(1, 8), failing: random.below(ITEMS_MAX) },
        };
      case "all":
      case "each":
        return { kind, key, parts: this.parts(depth + 1) };
      default:
        return { kind, key };
    }
  }
}

/** The value that a part of the run `id` has. */
export function resultOf(part: Part, id: string): unknown {
  switch (part.kind) {
    case "late":
      return "TimedOut";
    case "map":
      return Array.from({ length: part.times }, (_, n) => (n === part.failing ? `item ${n}` : n));
    case "gpu":
    case "leased":
      return `${id}/${part.key}`;
    case "cached":
      return "kept";
    case "nested":
      return (part.times * (part.times - 1)) / 2;
    case "all":
    case "each":
      return part.parts.map((each) => resultOf(each, id));
    default:
      return part.key;
  }
}

/** How many task runs a part has. */
export function taskRunsOf(part: Part): number {
  switch (part.kind) {
    case "map":
      return part.times;
    case "nested":
      return part.times + 1;
    case "all":
    case "each":
      return part.parts.reduce((sum, each) => sum + taskRunsOf(each), 0);
    case "leased":
    case "lines":
    case "printed":
    case "artifact":
      return 0;
    default:
      return 1;
  }
}

/** The lines that a part of the run `id` logs or prints. */
export function linesOf(part: Part, id: string): string[] {
  if (part.kind === "all" || part.kind === "each") return part.parts.flatMap((each) => linesOf(each, id));
  if (part.kind !== "lines" && part.kind !== "printed") return [];
  return Array.from({ length: part.times }, (_, n) => `${id}/${part.key} line ${n}`);
}

/** The keys of the artifacts that a part publishes. */
export function artifactsOf(part: Part): string[] {
  if (part.kind === "all" || part.kind === "each") return part.parts.flatMap(artifactsOf);
  return part.kind === "artifact" ? [part.key.toLowerCase()] : [];
}
