/** TypeScript text with comments, and optionally the contents of strings, replaced by spaces; lines and columns stay. */

export interface SourceText {
  /** Without comments. */
  code: string;
  /** Without comments and quoted text; expressions inside templates stay. */
  bare: string;
}

/** After one of these, a slash starts a regular expression, not a division. */
const BEFORE_REGEX = /(?:[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|await|yield))\s*$/;

class Scanner {
  readonly #text: string;
  #at = 0;
  code = "";
  bare = "";

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads to the end, or to the brace that closes a template's expression. */
  read(nested: boolean): void {
    let depth = 0;
    while (this.#at < this.#text.length) {
      const here = this.#text[this.#at] ?? "";
      if (this.#text.startsWith("//", this.#at)) this.#blank(this.#find("\n", this.#at), "both");
      else if (this.#text.startsWith("/*", this.#at)) this.#blank(this.#find("*/", this.#at) + 2, "both");
      else if (here === '"' || here === "'") this.#quoted(here);
      else if (here === "`") this.#template();
      else if (here === "/" && !this.#isMarkup() && BEFORE_REGEX.test(this.bare.slice(-40))) this.#regex();
      else {
        if (here === "{") depth += 1;
        if (here === "}") {
          if (nested && depth === 0) return;
          depth -= 1;
        }
        this.#keep(1);
      }
    }
  }

  #keep(count: number): void {
    const kept = this.#text.slice(this.#at, this.#at + count);
    this.code += kept;
    this.bare += kept;
    this.#at += count;
  }

  #blank(end: number, where: "both" | "bare"): void {
    const part = this.#text.slice(this.#at, end);
    const blank = part.replace(/[^\n]/g, " ");
    this.code += where === "both" ? blank : part;
    this.bare += blank;
    this.#at += part.length;
  }

  #find(what: string, from: number): number {
    const found = this.#text.indexOf(what, from);
    return found === -1 ? this.#text.length : found;
  }

  /** True for a slash that closes an element. */
  #isMarkup(): boolean {
    return this.#text[this.#at - 1] === "<" || this.#text[this.#at + 1] === ">";
  }

  #quoted(quote: string): void {
    this.#keep(1);
    let end = this.#at;
    // In an element's text an apostrophe is no quote; strings never span lines.
    while (end < this.#text.length && this.#text[end] !== quote && this.#text[end] !== "\n")
      end += this.#text[end] === "\\" ? 2 : 1;
    this.#blank(end, "bare");
    this.#keep(1);
  }

  #template(): void {
    this.#keep(1);
    while (this.#at < this.#text.length && this.#text[this.#at] !== "`") {
      if (this.#text.startsWith("${", this.#at)) {
        this.#keep(2);
        this.read(true);
        this.#keep(1);
      } else this.#blank(this.#at + (this.#text[this.#at] === "\\" ? 2 : 1), "bare");
    }
    this.#keep(1);
  }

  #regex(): void {
    this.#keep(1);
    let end = this.#at;
    let inClass = false;
    while (end < this.#text.length && (inClass || this.#text[end] !== "/")) {
      if (this.#text[end] === "[") inClass = true;
      if (this.#text[end] === "]") inClass = false;
      end += this.#text[end] === "\\" ? 2 : 1;
    }
    this.#blank(end, "bare");
    this.#keep(1);
  }
}

export function readSourceText(text: string): SourceText {
  const scanner = new Scanner(text);
  scanner.read(false);
  return { code: scanner.code, bare: scanner.bare };
}
