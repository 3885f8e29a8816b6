/** Builds the text of a shell command from a template, with every value quoted as one word. */
import { quoteForShell } from "#protocol/values/shell-word";

/** A list becomes one word for each of its entries. */
export type ShellValue = string | number | bigint | boolean | readonly (string | number | bigint | boolean)[];

/** A value as one word of a POSIX shell. */
export function shellWord(value: string | number | bigint | boolean): string {
  const text = String(value);
  if (text.includes("\0")) throw new TypeError("a value of a command cannot contain a NUL character");
  return quoteForShell(text);
}

/**
 * The text of a template, in which every value is quoted.
 * @throws TypeError for a value that is no text, number or list, and for a place where no quoting can protect the value
 */
export function shellText(strings: readonly (string | undefined)[], values: readonly unknown[]): string {
  const scanner = new ShellScanner();
  let text = "";
  for (const [at, part] of strings.entries()) {
    if (part === undefined)
      throw new TypeError("the command has an escape that JavaScript does not know: write \\\\ for a backslash");
    text += part;
    scanner.read(part);
    if (at >= values.length) continue;
    const refusal = scanner.refusal;
    if (refusal !== null) throw new TypeError(`value ${at + 1} of the command stands ${refusal}`);
    const words = wordsOf(values[at], at + 1);
    text += words;
    if (words !== "") scanner.readWord();
  }
  return text;
}

function wordsOf(value: unknown, number: number): string {
  if (Array.isArray(value)) return value.map((entry) => shellWord(checked(entry, number))).join(" ");
  return shellWord(checked(value, number));
}

/** A missing value would make another command: `rm -r ${dir}/` without the directory. */
function checked(value: unknown, number: number): string | number | bigint | boolean {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint" || typeof value === "boolean")
    return value;
  const kind = value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
  throw new TypeError(`value ${number} of the command must be a text, a number or a list of them, not ${kind}`);
}

/** Why a value cannot stand within each context; null where its quotes protect it. */
const REFUSALS = {
  word: null,
  single: "within quotes: leave them out, each value is quoted by itself",
  double: "within quotes: leave them out, each value is quoted by itself",
  braces: "within braces of the shell: pass it as an environment variable, sh({ env })`...`",
  arithmetic: "within $((...)) of the shell: compute it before",
  backticks: "within backticks of the shell: write $(...)",
  comment: "within a comment of the shell",
  document: "within a here-document: pass it as the option `input`, or as an environment variable, sh({ env })`...`",
} as const;

type Context = keyof typeof REFUSALS;

interface Open {
  context: Context;
  /** The text that closes the context. */
  end: string;
}

/** Follows the quoting of a shell command as far as its values need it. */
class ShellScanner {
  readonly #open: Open[] = [];
  /** Delimiters of here-documents whose bodies begin at the next line. */
  #documents: string[] = [];
  /** The line so far within a here-document. */
  #line = "";
  #escaped = false;
  /** Whether the next character begins a word, where # begins a comment. */
  #wordBegins = true;
  /** The delimiter after << while it is read, and the quote within it; null elsewhere. */
  #delimiter: string | null = null;
  #delimiterQuote = "";

  get refusal(): string | null {
    if (this.#escaped) return "after a backslash: leave that out, each value is quoted by itself";
    if (this.#delimiter !== null) return "in the delimiter of a here-document";
    return REFUSALS[this.#context];
  }

  /** A quoted value was put here. */
  readWord(): void {
    this.#wordBegins = false;
  }

  read(text: string): void {
    for (let at = 0; at < text.length; ) at += this.#step(text, at);
  }

  get #context(): Context {
    return this.#open.at(-1)?.context ?? "word";
  }

  /** Reads at one place; returns the number of characters read. */
  #step(text: string, at: number): number {
    const character = text[at] ?? "";
    if (this.#delimiter !== null) return this.#readDelimiter(character, this.#delimiter);
    if (this.#escaped) {
      this.#escaped = false;
      this.#wordBegins = false;
      return 1;
    }
    const context = this.#context;
    if (context === "document") return this.#readDocument(character);
    if (context === "comment") {
      if (character === "\n") this.#newline();
      return 1;
    }
    if (character === "\\" && context !== "single") {
      this.#escaped = true;
      return 1;
    }
    const end = this.#open.at(-1)?.end;
    if (end !== undefined && text.startsWith(end, at)) {
      this.#open.pop();
      this.#wordBegins = false;
      return end.length;
    }
    return context === "single" ? 1 : this.#readOpen(text, at, context);
  }

  /** Outside single quotes: what begins here. */
  #readOpen(text: string, at: number, context: Context): number {
    const character = text[at] ?? "";
    if (text.startsWith("$((", at)) return this.#begin("arithmetic", "))", 3);
    if (text.startsWith("$(", at)) return this.#begin("word", ")", 2);
    if (text.startsWith("${", at)) return this.#begin("braces", "}", 2);
    if (character === "`") return this.#begin("backticks", "`", 1);
    if (character === '"') return this.#begin("double", '"', 1);
    if (context === "double") return 1;
    if (character === "'") return this.#begin("single", "'", 1);
    if (character === "(") return this.#begin(context, ")", 1);
    return context === "word" ? this.#readWordText(text, at) : 1;
  }

  #readWordText(text: string, at: number): number {
    const character = text[at] ?? "";
    if (character === "\n") {
      this.#newline();
      return 1;
    }
    if (character === "#" && this.#wordBegins) return this.#begin("comment", "\n", 1);
    if (text.startsWith("<<<", at)) return 3;
    if (text.startsWith("<<", at)) {
      this.#delimiter = "";
      return text[at + 2] === "-" ? 3 : 2;
    }
    this.#wordBegins = /[\s;&|<>]/.test(character);
    return 1;
  }

  #begin(context: Context, end: string, length: number): number {
    this.#open.push({ context, end });
    this.#wordBegins = context === "word";
    return length;
  }

  /** Quotes and backslashes of a delimiter are no part of it. */
  #readDelimiter(character: string, read: string): number {
    if (this.#delimiterQuote !== "") {
      if (character === this.#delimiterQuote) this.#delimiterQuote = "";
      else this.#delimiter = read + character;
    } else if (character === "'" || character === '"') this.#delimiterQuote = character;
    else if (!/[\s;&|<>()\\]/.test(character)) this.#delimiter = read + character;
    else if (character !== "\\" && (read !== "" || character === "\n")) {
      this.#documents.push(read);
      this.#delimiter = null;
      return 0;
    }
    return 1;
  }

  /** The line of a word or a comment ends; here-documents of the line follow. */
  #newline(): void {
    if (this.#context === "comment") this.#open.pop();
    this.#wordBegins = true;
    if (this.#documents.length === 0) return;
    this.#line = "";
    this.#open.push({ context: "document", end: "" });
  }

  #readDocument(character: string): number {
    if (character !== "\n") {
      this.#line += character;
      return 1;
    }
    if (this.#line.replace(/^\t+/, "") === this.#documents[0]) this.#documents.shift();
    this.#line = "";
    if (this.#documents.length === 0) this.#open.pop();
    return 1;
  }
}
