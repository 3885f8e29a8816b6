/** The tables of a store that is moved, of either kind, held by no server meanwhile. */
import type { Cell, ExportHeader, MovedColumn, Row, StoredOwner } from "./format.ts";
import type { MovedTable } from "./tables.ts";

/** Rows that are read or written at once. */
export const PAGE_ROWS = 250;

export interface StoredTables {
  readonly kind: ExportHeader["store"];
  /** For texts; without a password. */
  readonly place: string;
  /** The columns of a table that are moved. */
  columns(table: MovedTable): Promise<MovedColumn[]>;
  /** All rows in the order of the primary key. */
  pages(table: MovedTable, columns: readonly MovedColumn[]): AsyncGenerator<Row[]>;
  /** The owner of the store, and the highest ids. */
  owner(): Promise<StoredOwner>;
  /** Releases the store. */
  close(): Promise<void>;
}

/** How far an import has come: the rows of the tables before `table` are stored, and `rows` of its own. */
export interface ImportProgress {
  table: string;
  rows: number;
}

/** A store that gets its rows from a file. No server uses the store before `finish`. */
export interface ImportedTables extends Omit<StoredTables, "owner"> {
  /** Empties the store unless it is the unfinished import of the same file; throws for a store that has runs. */
  begin(id: string): Promise<ImportProgress | null>;
  /** The row as this store can hold it. */
  fitted(row: Cell[]): Cell[];
  /** Stores rows, and the progress with them. */
  insert(table: MovedTable, columns: readonly MovedColumn[], rows: readonly Row[], progress: ImportProgress): Promise<void>;
  /** Makes it a store: raises the highest ids and the epoch of the owner. */
  finish(owner: StoredOwner): Promise<void>;
}
