/** The dynamic keys of a run's task runs: "fetch-0" by number, "fetch-2026-01-01" by label. Each names one task run. */
export class DynamicKeys {
  /** Number of the next call, by task name. */
  readonly #numbers = new Map<string, number>();
  /** How often each labelled key was asked for. */
  readonly #labelled = new Map<string, number>();

  next(name: string, label: string | undefined): string {
    return label === undefined ? this.#numbered(name) : this.#named(`${name}-${label}`);
  }

  #numbered(name: string): string {
    for (;;) {
      const number = this.#numbers.get(name) ?? 0;
      this.#numbers.set(name, number + 1);
      const key = `${name}-${number}`;
      if (!this.#labelled.has(key)) return key;
    }
  }

  /** The key itself for the first call, with "-2", "-3" for the calls that repeat it. */
  #named(key: string): string {
    for (;;) {
      const calls = (this.#labelled.get(key) ?? 0) + 1;
      this.#labelled.set(key, calls);
      const free = calls === 1 ? key : `${key}-${calls}`;
      if (this.#isNumbered(free) || (calls > 1 && this.#labelled.has(free))) continue;
      this.#labelled.set(free, this.#labelled.get(free) ?? 1);
      return free;
    }
  }

  /** Whether a call by number has the key. */
  #isNumbered(key: string): boolean {
    const dash = key.lastIndexOf("-");
    const number = key.slice(dash + 1);
    return /^\d+$/.test(number) && Number(number) < (this.#numbers.get(key.slice(0, dash)) ?? 0);
  }
}
