/** Detects changed files and folders by polling, a bounded number per check. */
import { statSync } from "node:fs";
import { isChanged, isSettled, type LoadedFile, recordFile } from "#sdk/modules/loaded-file";

/** Checking a path takes two microseconds; with more paths, they are checked in turns. */
const LOOKED_AT_MAX = 1_000;

export class FileWatch {
  /** The last stamp of each path. */
  readonly #stamps: Map<string, string>;
  readonly #paths: readonly string[];
  readonly #stampOf: (path: string) => string;
  #from = 0;

  constructor(stamps: Map<string, string>, stampOf: (path: string) => string) {
    this.#stamps = stamps;
    this.#paths = [...stamps.keys()];
    this.#stampOf = stampOf;
  }

  /** The paths that have changed since they were last checked. */
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

/** Watches places where further modules may appear, compared with their current state. */
export function watchPlaces(paths: readonly string[]): FileWatch {
  return new FileWatch(new Map(paths.map((path) => [path, placeStamp(path)])), placeStamp);
}

/** Watches loaded files, compared with their state when loaded: a change since then counts. */
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
 * The times of a folder change when an entry is added or removed; its size means nothing. Two changes in quick succession may
 * have equal times, so a recently changed path is checked once more when its times are old enough.
 */
function placeStamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "";
  const times = `${stat.mtimeMs} ${isSettled(stat)}`;
  return stat.isDirectory() ? times : `${times} ${stat.size}`;
}
