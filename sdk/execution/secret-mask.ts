/** Shorter texts are not masked: they occur in ordinary words. */
const MASKED_CHARS_MIN = 4;

const MASK = "***";

/** The values of secret variables that a run knows, and their place in texts. */
export class SecretMask {
  readonly #texts = new Set<string>();
  #pattern: RegExp | null = null;
  #longest = 0;

  /** Characters of the longest text that is masked. */
  get longest(): number {
    return this.#longest;
  }

  /** Masks a value from now on: a text line by line, because a log has lines, and each text in a list or an object. */
  add(value: unknown): void {
    if (typeof value === "object" && value !== null) {
      for (const each of Object.values(value)) this.add(each);
    } else if (typeof value === "string" || typeof value === "number") {
      for (const line of String(value).split(/[\r\n]+/)) this.#addText(line);
    }
  }

  mask(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, MASK);
  }

  #addText(text: string): void {
    if (text.trim().length < MASKED_CHARS_MIN || this.#texts.has(text)) return;
    this.#texts.add(text);
    this.#longest = Math.max(this.#longest, text.length);
    // The longest first, so that a secret that begins like another one is masked whole.
    const all = [...this.#texts].sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp(all.map((each) => each.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
  }
}
