/** A backup: one file with the whole store, made with or without a running server. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type CopyFacts, copyStore } from "#storage/home/copy";
import type { StorePlace } from "../config/config.ts";
import { STORE_FILE } from "./home-files.ts";
import { OperationalError } from "./operational-error.ts";
import { refuseDatabase } from "./refuse-database.ts";

export interface BackupResult extends CopyFacts {
  /** Absolute path of the backup. */
  file: string;
}

/**
 * Copies the store of a home to a file; `overwrite` replaces an existing file once the new one is complete.
 * @throws OperationalError when the store is in a database, when there is none, or no place for the copy; StorageError when the store is damaged.
 */
export async function backUp(place: StorePlace, target: string, overwrite: boolean): Promise<BackupResult> {
  refuseDatabase("backup", place);
  const { home } = place;
  const file = resolve(target);
  const store = join(home, STORE_FILE);
  if (!existsSync(store))
    throw new OperationalError(`there is no store in ${home}; one in PostgreSQL is backed up by pg_dump or pg_basebackup`);
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    throw new OperationalError(`there is no folder ${dirname(file)}`);
  if (file === store) throw new OperationalError(`${file} is the store itself: name another file`);
  if (existsSync(file) && !overwrite) throw new OperationalError(`${file} exists: name another file, or pass --overwrite`);
  return { file, ...(await copyStore(store, file)) };
}
