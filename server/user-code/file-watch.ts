/** Notices that files or folders have changed, by looking at them in turns: a bounded number in each look. */
import { statSync } from "node:fs";

/** Looking at one takes two microseconds; more of them take turns. */
const LOOKED_AT_MAX = 1_000;

export class FileWatch {
  readonly #paths: readonly string[];
  readonly #stamps: Map<string, string>;
  #from = 0;

  constructor(paths: readonly string[]) {
    this.#paths = paths;
    this.#stamps = new Map(paths.map((path) => [path, stampOf(path)]));
  }

  /** The paths that have changed since the last look at them. */
  look(): string[] {
    const from = this.#from < this.#paths.length ? this.#from : 0;
    this.#from = from + LOOKED_AT_MAX;
    return this.#paths.slice(from, from + LOOKED_AT_MAX).filter((path) => {
      const stamp = stampOf(path);
      if (this.#stamps.get(path) === stamp) return false;
      this.#stamps.set(path, stamp);
      return true;
    });
  }
}

/** A folder changes when something is added to it or removed; its size says nothing. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "" : stat.isDirectory() ? `${stat.mtimeMs}` : `${stat.mtimeMs} ${stat.size}`;
}
