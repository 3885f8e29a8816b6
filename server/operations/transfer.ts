/** Moves a whole store to a file, and makes a store of such a file, without a running server. */
import { randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { systemClock } from "#runtime/clock";
import { lockHome } from "#storage/home/lock";
import { isPostgresUrl, storeName } from "#storage/postgres/location";
import { type ExportedFile, type OnPortion, writeExportFile } from "#storage/transfer/export-file";
import { type ImportedFile, importFile, type OnImport } from "#storage/transfer/import-file";
import { openPostgresExport, openPostgresImport } from "#storage/transfer/postgres-tables";
import { openSqliteExport, openSqliteImport } from "#storage/transfer/sqlite-tables";
import type { ImportedTables, StoredTables } from "#storage/transfer/stored-tables";
import { prepareHome } from "../discovery-file.ts";
import { STORE_FILE } from "./home-files.ts";
import { OperationalError } from "./operational-error.ts";

export interface ExportResult extends ExportedFile {
  /** Absolute path of the file. */
  file: string;
  /** The path or the URL of the store, without a password. */
  store: string;
}

export interface ImportResult extends ImportedFile {
  store: string;
}

/**
 * @param place a home, or the URL of a database
 * @throws HomeLockedError while a server runs; OperationalError, TransferError or StorageError that says why there is no file
 */
export async function exportStore(
  place: string,
  target: string,
  overwrite: boolean,
  onPortion: OnPortion,
): Promise<ExportResult> {
  const file = resolve(target);
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    throw new OperationalError(`there is no folder ${dirname(file)}`);
  if (existsSync(file) && !overwrite) throw new OperationalError(`${file} exists: name another file, or pass --overwrite`);
  const { store, open } = exported(place);
  if (file === store) throw new OperationalError(`${file} is the store itself: name another file`);
  return await holding(place, open, async (tables) => ({
    file,
    store,
    ...(await writeExportFile(tables, file, { id: randomUUID(), created_at: systemClock.nowUs() }, onPortion)),
  }));
}

function exported(place: string): { store: string; open(): Promise<StoredTables> } {
  if (isPostgresUrl(place)) return { store: storeName(place), open: () => openPostgresExport(place) };
  const store = join(place, STORE_FILE);
  if (!existsSync(store)) throw new OperationalError(`there is no store in ${place}`);
  return { store, open: async () => openSqliteExport(store) };
}

/** @throws as `exportStore`; an import that was interrupted goes on when the same file is imported again */
export async function importStore(place: string, source: string, onImport: OnImport): Promise<ImportResult> {
  const file = resolve(source);
  if (!existsSync(file)) throw new OperationalError(`there is no file ${file}`);
  if (!isPostgresUrl(place)) prepareHome(place);
  const { store, open } = imported(place);
  return await holding(place, open, async (tables) => ({ store, ...(await importFile(file, tables, onImport)) }));
}

function imported(place: string): { store: string; open(): Promise<ImportedTables> } {
  if (isPostgresUrl(place)) return { store: storeName(place), open: () => openPostgresImport(place) };
  const store = join(place, STORE_FILE);
  const stamp = new Date(systemClock.nowUs() / 1000).toISOString().replace(/[-:]|\.\d+/g, "");
  return { store, open: async () => openSqliteImport(store, join(place, `${STORE_FILE}.before-${stamp}`)) };
}

/** Opens the store while no server has it. The session of a database holds its lock. */
async function holding<Tables extends { close(): Promise<void> }, Result>(
  place: string,
  open: () => Promise<Tables>,
  work: (tables: Tables) => Promise<Result>,
): Promise<Result> {
  const lock = isPostgresUrl(place) ? null : lockHome(place);
  try {
    const tables = await open();
    return await work(tables).finally(() => tables.close());
  } finally {
    lock?.release();
  }
}
