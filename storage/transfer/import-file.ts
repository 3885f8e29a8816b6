/** Makes a store of the file of an export: checks the file, inserts its rows in portions, and compares each row with the file. */
import type { OnPortion } from "./export-file.ts";
import { readExportFile } from "./export-reader.ts";
import { type Cell, type ExportHeader, type Row, rowText, TransferError } from "./format.ts";
import type { ImportedTables, ImportProgress } from "./stored-tables.ts";
import { movedTable } from "./tables.ts";

export type ImportStep = "checking" | "importing" | "comparing";
export type OnImport = (step: ImportStep, ...portion: Parameters<OnPortion>) => void;

export interface ImportedFile {
  /** Number of rows by table. */
  rows: Record<string, number>;
  /** Rows that an interrupted import had stored before. */
  resumed: number;
  /** Rows of which the store holds other texts, because it holds no NUL characters. */
  changed: number;
}

/** Throws a TransferError when the file is damaged or the store takes no import; before the first change of the store, if it can. */
export async function importFile(path: string, target: ImportedTables, onImport: OnImport): Promise<ImportedFile> {
  const header = await checkedHeader(path, (table, rows) => onImport("checking", table, rows));
  await checkColumns(header, target);
  const done = await target.begin(header.id);
  const result: ImportedFile = { rows: {}, resumed: 0, changed: 0 };
  const first = header.tables.findIndex(({ name }) => name === done?.table);
  for await (const item of readExportFile(path)) {
    if (item.kind === "header") sameFile(header, item.header, path);
    const table = item.kind === "header" ? undefined : header.tables[item.table];
    if (item.kind !== "rows" || table === undefined) continue;
    const skipped = item.table < first ? item.rows.length : item.table > first ? 0 : (done?.rows ?? 0) - item.before;
    const rows = item.rows.slice(Math.max(0, skipped));
    const stored: ImportProgress = { table: table.name, rows: item.before + item.rows.length };
    if (rows.length > 0)
      await target.insert(
        movedTable(table.name),
        table.columns,
        rows.map((row) => target.fitted(row)),
        stored,
      );
    result.resumed += item.rows.length - rows.length;
    onImport("importing", table.name, stored.rows);
  }
  await compare(path, header, target, result, onImport);
  await target.finish(header.owner);
  return result;
}

async function checkedHeader(path: string, onPortion: OnPortion): Promise<ExportHeader> {
  let header: ExportHeader | null = null;
  for await (const item of readExportFile(path)) {
    if (item.kind === "header") header = item.header;
    else if (item.kind === "rows") onPortion(header?.tables[item.table]?.name ?? "", item.before + item.rows.length);
  }
  if (header === null) throw new TransferError(`${path} is empty`);
  return header;
}

function sameFile(checked: ExportHeader, read: ExportHeader, path: string): void {
  if (checked.id !== read.id) throw new TransferError(`${path} was replaced during the import: run the command again`);
}

/** The columns of the file are among those of the store. */
async function checkColumns({ tables }: ExportHeader, target: ImportedTables): Promise<void> {
  for (const { name, columns } of tables) {
    const known = await target.columns(movedTable(name));
    for (const column of columns) {
      if (known.some((each) => each.name === column.name && each.kind === column.kind)) continue;
      throw new TransferError(`the store has no column ${column.name} (${column.kind}) in its table ${name}`);
    }
  }
}

/** Reads the store again, row by row beside the file. */
async function compare(
  path: string,
  { tables }: ExportHeader,
  target: ImportedTables,
  result: ImportedFile,
  onImport: OnImport,
): Promise<void> {
  let stored = new StoredRows(null);
  let isOpen = false;
  for await (const item of readExportFile(path)) {
    const table = item.kind === "header" ? undefined : tables[item.table];
    if (item.kind === "header" || table === undefined) continue;
    const { name, columns } = table;
    if (!isOpen) stored = new StoredRows(target.pages(movedTable(name), columns));
    isOpen = item.kind === "rows";
    const differs = (row: number) => new TransferError(`row ${row} of the table ${name} is not as in the file: import again`);
    if (item.kind === "end") {
      if ((await stored.next()) !== null) throw differs(item.rows + 1);
      result.rows[name] = item.rows;
      continue;
    }
    for (const [index, row] of item.rows.entries()) {
      const expected = rowText(columns, target.fitted(row));
      const found = await stored.next();
      if (found === null || rowText(columns, found) !== expected) throw differs(item.before + index + 1);
      if (expected !== rowText(columns, row)) result.changed += 1;
    }
    onImport("comparing", name, item.before + item.rows.length);
  }
}

class StoredRows {
  readonly #pages: AsyncGenerator<Row[]> | null;
  #page: Row[] = [];
  #at = 0;

  constructor(pages: AsyncGenerator<Row[]> | null) {
    this.#pages = pages;
  }

  async next(): Promise<readonly Cell[] | null> {
    while (this.#at === this.#page.length) {
      const next = await this.#pages?.next();
      if (next === undefined || next.done === true) return null;
      this.#page = next.value;
      this.#at = 0;
    }
    this.#at += 1;
    return this.#page[this.#at - 1] ?? null;
  }
}
