/** Replaces the store of a home without a running server by a backup. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "#runtime/clock";
import { type CopyFacts, copyStore, replaceStore } from "#storage/home/copy";
import { lockHome } from "#storage/home/lock";
import type { StorePlace } from "../config/config.ts";
import { prepareHome } from "../discovery-file.ts";
import { STORE_FILE } from "./home-files.ts";
import { OperationalError } from "./operational-error.ts";
import { refuseDatabase } from "./refuse-database.ts";

export interface RestoreResult extends CopyFacts {
  home: string;
  /** Where the former store is kept; null if there was none. */
  aside: string | null;
  /** False when the former store could not be read, so that its ids may be assigned again. */
  counters_kept: boolean;
}

/**
 * @throws HomeLockedError while a server runs; OperationalError for a missing file and for a store in a database; StorageError
 * when the file is not a sound store, or one of a newer version. On an error, the home is unchanged.
 */
export async function restore(place: StorePlace, source: string): Promise<RestoreResult> {
  refuseDatabase("restore", place);
  const { home } = place;
  const file = resolve(source);
  if (!existsSync(file)) throw new OperationalError(`there is no file ${file}`);
  prepareHome(home);
  const lock = lockHome(home);
  try {
    const store = join(home, STORE_FILE);
    if (file === store) throw new OperationalError(`${file} is the store itself`);
    const stamp = new Date(systemClock.nowUs() / 1000).toISOString().replace(/[-:]|\.\d+/g, "");
    const copy = join(home, `${STORE_FILE}.restoring-${stamp}`);
    const facts = await copyStore(file, copy);
    const aside = join(home, `${STORE_FILE}.before-${stamp}`);
    const existed = existsSync(store);
    const kept = replaceStore(store, copy, aside);
    return { home, aside: existed ? aside : null, counters_kept: kept || !existed, ...facts };
  } finally {
    lock.release();
  }
}
