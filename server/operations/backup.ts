/** A backup: one file with the whole store, made while a server goes on or while none runs. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type CopyFacts, copyStore } from "#storage/copy";
import { STORE_FILE } from "./home-files.ts";
import { OperationalError } from "./operational-error.ts";

export interface BackupResult extends CopyFacts {
  /** Absolute path of the backup. */
  file: string;
}

/**
 * Copies the store of a home to a file; `overwrite` replaces one that is there, once the new one is whole.
 * @throws OperationalError when there is nothing to copy or no place for it; StorageError when the store is damaged.
 */
export async function backUp(home: string, target: string, overwrite: boolean): Promise<BackupResult> {
  const file = resolve(target);
  const store = join(home, STORE_FILE);
  if (!existsSync(store)) throw new OperationalError(`there is no store in ${home}`);
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    throw new OperationalError(`there is no folder ${dirname(file)}`);
  if (file === store) throw new OperationalError(`${file} is the store itself: name another file`);
  if (existsSync(file) && !overwrite) throw new OperationalError(`${file} exists: name another file, or pass --overwrite`);
  return { file, ...(await copyStore(store, file)) };
}
