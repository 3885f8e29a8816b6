/**
 * The file of `millrace export`: gzip of lines of JSON, described in docs/guides/postgresql.md.
 *
 *   {"format":"millrace-export","version":1,"schema":15,"id":"...","store":"sqlite","created_at":...,"owner":{...},"tables":[...]}
 *   [1,"AZAAAQAAcACAAAAAAAAAAQ==","p","etl",...]      one line for each row of the first table, in the order of its primary key
 *   {"end":"flows","rows":1,"sha256":"..."}             after the rows of each table
 */

export const FORMAT = "millrace-export";
/** Raised when a program that knows the version before cannot read the file. */
export const FORMAT_VERSION = 1;

/** `lines` are the lines of a log block: text, or that text deflated. */
export const CELL_KINDS = ["integer", "real", "text", "bytes", "lines"] as const;
export type CellKind = (typeof CELL_KINDS)[number];

export type Cell = number | string | Uint8Array | null;
export type Row = readonly Cell[];

export interface MovedColumn {
  name: string;
  kind: CellKind;
}

/** Who wrote the store last. */
export interface StoredOwner {
  epoch: number;
  /** Number and result of the newest commit (storage/write/member-row.ts). */
  number: number;
  result: readonly number[];
  /** The highest ids given. */
  counters: Readonly<Record<string, number>>;
}

export interface ExportHeader {
  format: string;
  version: number;
  /** Version of the schema, counted as that of SQLite. */
  schema: number;
  /** Random: an unfinished import knows its file by the id. */
  id: string;
  store: "sqlite" | "postgres";
  created_at: number;
  owner: StoredOwner;
  tables: readonly { name: string; columns: readonly MovedColumn[] }[];
}

export interface TableEnd {
  end: string;
  rows: number;
  /** Of the lines of the rows with their line ends. */
  sha256: string;
}

/** A file or a store that cannot be moved; the text says why. */
export class TransferError extends Error {
  override readonly name = "TransferError";
}

/** The line of a row, without its end. */
export function rowText(columns: readonly MovedColumn[], row: Row): string {
  return JSON.stringify(columns.map((column, index) => cellValue(column, row[index] ?? null)));
}

function cellValue({ name, kind }: MovedColumn, cell: Cell): unknown {
  if (cell === null) return null;
  if (typeof cell === "string" && (kind === "text" || kind === "lines")) return cell;
  if (typeof cell === "number" && (kind === "real" ? Number.isFinite(cell) : kind === "integer" && Number.isSafeInteger(cell)))
    return cell;
  if (typeof cell === "object" && kind === "bytes") return base64(cell);
  if (typeof cell === "object" && kind === "lines") return { deflated: base64(cell) };
  throw new TransferError(`the column ${name} should hold ${kind} and holds ${JSON.stringify(cell)?.slice(0, 40)}`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** The row of a line. */
export function rowOf(columns: readonly MovedColumn[], text: string): Cell[] {
  const values = JSON.parse(text) as unknown;
  if (!Array.isArray(values) || values.length !== columns.length) throw new TransferError("the row has other columns");
  return columns.map((column, index) => cellOf(column, values[index]));
}

function cellOf({ name, kind }: MovedColumn, value: unknown): Cell {
  if (value === null) return null;
  if (typeof value === "number" && (kind === "integer" || kind === "real")) return value;
  if (typeof value === "string") {
    if (kind === "text" || kind === "lines") return value;
    if (kind === "bytes") return Buffer.from(value, "base64");
  }
  if (kind === "lines" && typeof value === "object" && "deflated" in value && typeof value.deflated === "string")
    return Buffer.from(value.deflated, "base64");
  throw new TransferError(`the column ${name} has a value that is no ${kind}`);
}
