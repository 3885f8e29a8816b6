/** Values made of texts while the state is loaded: records with equal texts share one value, and each text is read once. */

/** Beyond this number, values are forgotten, so that records without equals cost only a little memory. */
const TEXTS_MAX = 1_000;
/** Longer texts are rarely equal. */
const LENGTH_MAX = 1_000;

export class SharedTexts<T> {
  readonly #make: (text: string) => T;
  readonly #known = new Map<string, T>();

  constructor(make: (text: string) => T) {
    this.#make = make;
  }

  get(text: string): T {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const made = this.#make(text);
    if (text.length > LENGTH_MAX) return made;
    if (this.#known.size >= TEXTS_MAX) this.#known.clear();
    this.#known.set(text, made);
    return made;
  }
}
