/** Notices that files or folders have changed, by looking at them in turns: a bounded number in each look. */
import { statSync } from "node:fs";
import { isChanged, isSettled, type LoadedFile, recordFile } from "#sdk/loaded-file";

/** Looking at one takes two microseconds; more of them take turns. */
const LOOKED_AT_MAX = 1_000;

export class FileWatch {
  /** What each path looked like last. */
  readonly #stamps: Map<string, string>;
  readonly #paths: readonly string[];
  readonly #stampOf: (path: string) => string;
  #from = 0;

  constructor(stamps: Map<string, string>, stampOf: (path: string) => string) {
    this.#stamps = stamps;
    this.#paths = [...stamps.keys()];
    this.#stampOf = stampOf;
  }

  /** The paths that have changed since the last look at them. */
  look(): string[] {
    const from = this.#from < this.#paths.length ? this.#from : 0;
    this.#from = from + LOOKED_AT_MAX;
    return this.#paths.slice(from, from + LOOKED_AT_MAX).filter((path) => {
      const stamp = this.#stampOf(path);
      if (this.#stamps.get(path) === stamp) return false;
      this.#stamps.set(path, stamp);
      return true;
    });
  }
}

/** Watches places where there may be further modules, from how they are now on. */
export function watchPlaces(paths: readonly string[]): FileWatch {
  return new FileWatch(new Map(paths.map((path) => [path, placeStamp(path)])), placeStamp);
}

/** Watches loaded files, from how they were loaded on: a change since then counts. */
export function watchLoaded(files: ReadonlyMap<string, LoadedFile>): FileWatch {
  const stampOf = (path: string): string => {
    const file = files.get(path);
    if (file === undefined || !isChanged(file)) return AS_LOADED;
    const { target, content } = recordFile(path);
    return `${target} ${content}`;
  };
  return new FileWatch(new Map([...files.keys()].map((path) => [path, AS_LOADED])), stampOf);
}

const AS_LOADED = "";

/**
 * A folder changes when something is added to it or removed; its size says nothing. Two changes in a row may leave the same times:
 * a path that was changed a moment before is looked at once more when its times are old enough to tell.
 */
function placeStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "";
  const times = `${stat.mtimeMs} ${isSettled(stat)}`;
  return stat.isDirectory() ? times : `${times} ${stat.size}`;
}
