/** Writes a store to a file, one table after another. */
import { createHash } from "node:crypto";
import { createWriteStream, rmSync } from "node:fs";
import { open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { MIGRATIONS } from "../migrations/index.ts";
import { type ExportHeader, FORMAT, FORMAT_VERSION, rowText, type TableEnd, TransferError } from "./format.ts";
import type { StoredTables } from "./stored-tables.ts";
import { MOVED_TABLES, movedTable } from "./tables.ts";

/** Readable by its owner alone. */
const FILE_MODE = 0o600;
/** Half the time of the default level, for files a tenth larger. */
const GZIP_LEVEL = 3;

/** Called for each portion with the table and the number of its rows so far. */
export type OnPortion = (table: string, rows: number) => void;

/** What an export has besides the store. */
export type ExportMark = Pick<ExportHeader, "id" | "created_at">;

export interface ExportedFile {
  bytes: number;
  /** Number of rows by table. */
  rows: Record<string, number>;
}

/** Writes the file under another name, and renames it when it is complete. */
export async function writeExportFile(
  store: StoredTables,
  path: string,
  mark: ExportMark,
  onPortion: OnPortion,
): Promise<ExportedFile> {
  const part = `${path}.${process.pid}.part`;
  const rows: Record<string, number> = {};
  try {
    const lines = exportedLines(store, mark, (table, count) => {
      rows[table] = count;
      onPortion(table, count);
    });
    const file = createWriteStream(part, { flags: "wx", mode: FILE_MODE, flush: true });
    await pipeline(Readable.from(lines), createGzip({ level: GZIP_LEVEL }), file);
    await rename(part, path);
    await syncFolder(dirname(path));
    return { bytes: (await stat(path)).size, rows };
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}

async function* exportedLines(store: StoredTables, mark: ExportMark, onPortion: OnPortion): AsyncGenerator<string> {
  const tables: ExportHeader["tables"][number][] = [];
  for (const table of MOVED_TABLES) tables.push({ name: table.name, columns: await store.columns(table) });
  const header: ExportHeader = {
    format: FORMAT,
    version: FORMAT_VERSION,
    schema: MIGRATIONS.length,
    ...mark,
    store: store.kind,
    owner: await store.owner(),
    tables,
  };
  yield `${JSON.stringify(header)}\n`;
  for (const { name, columns } of tables) {
    const hash = createHash("sha256");
    let rows = 0;
    onPortion(name, rows);
    for await (const page of store.pages(movedTable(name), columns)) {
      const text = page.map((row) => `${named(name, () => rowText(columns, row))}\n`).join("");
      hash.update(text);
      rows += page.length;
      onPortion(name, rows);
      yield text;
    }
    const end: TableEnd = { end: name, rows, sha256: hash.digest("hex") };
    yield `${JSON.stringify(end)}\n`;
  }
}

/** Adds the table to the text of an error. */
function named<Result>(table: string, call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    if (error instanceof TransferError) throw new TransferError(`the table ${table} cannot be exported: ${error.message}`);
    throw error;
  }
}
