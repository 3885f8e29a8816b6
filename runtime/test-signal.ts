/** Named facts that tests wait for instead of sleeping. Nobody listens in production, and then emitting costs a lookup. */
export class TestSignals {
  readonly #waiting = new Map<string, ((data: unknown) => void)[]>();

  emit(name: string, data: unknown = null): void {
    const waiting = this.#waiting.get(name);
    if (waiting === undefined) return;
    this.#waiting.delete(name);
    for (const resolve of waiting) resolve(data);
  }

  /** Resolves at the next emit of that name. */
  next(name: string): Promise<unknown> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(name) ?? [];
      waiting.push(resolve);
      this.#waiting.set(name, waiting);
    });
  }
}
