/** What the command lines of all kinds of load test have in common. */
import { parseArgs } from "node:util";

export class UsageError extends Error {}

/** Where the report goes. */
export interface Output {
  json: boolean;
  /** File of the report with charts, or null. */
  html: string | null;
  help: boolean;
}

export interface CommandLine<Options> {
  options: Options;
  output: Output;
}

export const OUTPUT_USAGE = `  --json                JSON on standard output instead of the table
  --html FILE           also a report with charts in one file, which can be sent to others
  --help                this text
`;

/** The options of a command line, read by name; each kind of load test refuses those that it does not know. */
export class Arguments {
  readonly #values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

  /**
   * @param texts options with a value; those in `lists` may be repeated
   * @throws UsageError
   */
  constructor(
    args: readonly string[],
    names: { texts: readonly string[]; flags?: readonly string[]; lists?: readonly string[] },
  ) {
    const named = (type: "string" | "boolean", list: readonly string[] = [], multiple = false) =>
      Object.fromEntries(list.map((name) => [name, { type, multiple }]));
    try {
      this.#values = parseArgs({
        args: [...args],
        options: {
          ...named("string", [...names.texts, "html"]),
          ...named("boolean", [...(names.flags ?? []), "json", "help"]),
          ...named("string", names.lists, true),
        },
      }).values;
    } catch (error) {
      throw new UsageError(error instanceof Error ? error.message : String(error));
    }
  }

  get output(): Output {
    const html = this.text("html");
    if (html === "") throw new UsageError("--html needs the name of a file");
    return { json: this.flag("json"), html, help: this.flag("help") };
  }

  text(name: string): string | null {
    const value = this.#values[name];
    return typeof value === "string" ? value : null;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  list(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** Whole numbers, except durations. */
  number(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name);
    if (value === null) return fallback;
    const number = Number(value);
    const isWhole = name.endsWith("seconds") || Number.isInteger(number);
    if (value === "" || !isWhole || !(number >= min && number <= max)) {
      throw new UsageError(`--${name} must be a number from ${min} to ${max}, not ${value}`);
    }
    return number;
  }

  /** Names of a list, in the order given. */
  choices<Name extends string>(name: string, known: readonly Name[], fallback: readonly Name[]): readonly Name[] {
    const value = this.text(name);
    if (value === null) return fallback;
    if (value === "all") return known;
    return value.split(",").map((part) => {
      const found = known.find((one) => one === part.trim());
      if (found === undefined) throw new UsageError(`--${name} knows ${known.join(", ")} and all, not ${part}`);
      return found;
    });
  }

  choice<Name extends string>(name: string, known: readonly Name[], fallback: Name): Name {
    const value = this.text(name);
    if (value === null) return fallback;
    const found = known.find((one) => one === value);
    if (found === undefined) throw new UsageError(`--${name} is ${known.join(" or ")}, not ${value}`);
    return found;
  }

  /** A number from 0 to 1, or null. */
  share(name: string): number | null {
    const value = this.text(name);
    if (value === null) return null;
    const share = Number(value);
    if (value.trim() === "" || !(share >= 0 && share <= 1))
      throw new UsageError(`--${name} must be a number from 0 to 1, not ${value}`);
    return share;
  }

  /** The path behind `tree:`, or null. */
  tree(name: string): string | null {
    const value = this.text(name);
    if (value === null) return null;
    if (!value.startsWith(TREE_PREFIX)) throw new UsageError(`--${name} takes tree:PATH here, not ${value}`);
    return value.slice(TREE_PREFIX.length);
  }
}

export const TREE_PREFIX = "tree:";
