/** A backup: one file with the whole store, made with or without a running server. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type CopyFacts, copyStore } from "#storage/home/copy";
import { STORE_FILE } from "./home-files.ts";
import { OperationalError } from "./operational-error.ts";

export interface BackupResult extends CopyFacts {
  /** Absolute path of the backup. */
  file: string;
}

/**
 * Copies the store of a home to a file; `overwrite` replaces an existing file once the new one is complete.
 * @throws OperationalError when there is no store to copy or no place for the copy; StorageError when the store is damaged.
 */
export async function backUp(home: string, target: string, overwrite: boolean): Promise<BackupResult> {
  const file = resolve(target);
  const store = join(home, STORE_FILE);
  if (!existsSync(store))
    throw new OperationalError(
      `there is no store in ${home}; a store in PostgreSQL is backed up by its own tools, for example pg_dump`,
    );
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    throw new OperationalError(`there is no folder ${dirname(file)}`);
  if (file === store) throw new OperationalError(`${file} is the store itself: name another file`);
  if (existsSync(file) && !overwrite) throw new OperationalError(`${file} exists: name another file, or pass --overwrite`);
  return { file, ...(await copyStore(store, file)) };
}
