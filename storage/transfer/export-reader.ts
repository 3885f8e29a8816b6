/** Reads the file of an export, checks it, and names the place of what is wrong. */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { MIGRATIONS } from "../migrations/index.ts";
import {
  CELL_KINDS,
  type Cell,
  type ExportHeader,
  FORMAT,
  FORMAT_VERSION,
  rowOf,
  type TableEnd,
  TransferError,
} from "./format.ts";
import { PAGE_ROWS } from "./stored-tables.ts";
import { MOVED_TABLES } from "./tables.ts";

const LINE_END = 10;
/** A portion of rows ends when its lines have this length: a block of log lines may have a megabyte. */
const PORTION_BYTES = 4 * 1024 * 1024;

/** Consecutive rows of a table. */
export interface Portion {
  kind: "rows";
  table: number;
  /** How many rows of the table came before. */
  before: number;
  rows: Cell[][];
}

export type ExportItem = { kind: "header"; header: ExportHeader } | Portion | { kind: "end"; table: number; rows: number };

/** The header, and for each table its rows and its end. Throws a TransferError with the place of a damage. */
export async function* readExportFile(path: string): AsyncGenerator<ExportItem> {
  const reader = new ExportReader(path);
  for await (const line of linesOf(path, reader)) {
    const item = reader.item(line);
    if (item !== null) yield* item;
  }
  reader.end();
}

/** Lines without their ends. */
async function* linesOf(path: string, reader: ExportReader): AsyncGenerator<Buffer> {
  // An error of the file or of its gzip ends the iteration below.
  const bytes = pipeline(createReadStream(path), createGunzip(), () => undefined);
  let rest: Buffer[] = [];
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = chunk.indexOf(LINE_END); at >= 0; at = chunk.indexOf(LINE_END, from)) {
        yield Buffer.concat([...rest, chunk.subarray(from, at)]);
        rest = [];
        from = at + 1;
      }
      if (from < chunk.length) rest.push(chunk.subarray(from));
    }
  } catch (error) {
    if (error instanceof Error && (error as NodeJS.ErrnoException).code?.startsWith("Z_") === true) throw reader.damaged(error);
    throw error;
  }
  if (rest.length > 0) throw reader.damaged(new Error("the last line has no end"));
}

class ExportReader {
  readonly #path: string;
  #line = 0;
  #header: ExportHeader | null = null;
  #table = 0;
  #rows = 0;
  #hash: Hash = createHash("sha256");
  #portion: Cell[][] = [];
  #portionBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  damaged(cause: Error): TransferError {
    const table = this.#header?.tables[this.#table]?.name;
    const place = table === undefined ? "" : `, row ${this.#rows + 1} of the table ${table}`;
    return new TransferError(`${this.#path} is damaged at line ${this.#line + 1}${place}: ${cause.message}`);
  }

  /** What a line completes. */
  item(line: Buffer): ExportItem[] | null {
    try {
      return this.#item(line);
    } catch (error) {
      if (this.#header === null && error instanceof TransferError) throw error;
      if (error instanceof TransferError || error instanceof SyntaxError) throw this.damaged(error);
      throw error;
    } finally {
      this.#line += 1;
    }
  }

  /** Throws unless all tables have come to their end. */
  end(): void {
    if (this.#header === null) throw new TransferError(`${this.#path} is empty`);
    if (this.#table < this.#header.tables.length) throw this.damaged(new Error("the file ends early"));
  }

  #item(line: Buffer): ExportItem[] | null {
    if (this.#header === null) {
      this.#header = headerOf(this.#path, line.toString("utf8"));
      return [{ kind: "header", header: this.#header }];
    }
    const table = this.#header.tables[this.#table];
    if (table === undefined) throw new TransferError("the file goes on after its last table");
    const text = line.toString("utf8");
    if (text.startsWith("{")) return this.#tableEnd(table.name, JSON.parse(text) as Partial<TableEnd>);
    this.#portion.push(rowOf(table.columns, text));
    this.#hash.update(line).update("\n");
    this.#rows += 1;
    this.#portionBytes += line.length;
    if (this.#portion.length < PAGE_ROWS && this.#portionBytes < PORTION_BYTES) return null;
    return [this.#takePortion()];
  }

  #takePortion(): Portion {
    const rows = this.#portion;
    this.#portion = [];
    this.#portionBytes = 0;
    return { kind: "rows", table: this.#table, before: this.#rows - rows.length, rows };
  }

  #tableEnd(name: string, { end, rows, sha256 }: Partial<TableEnd>): ExportItem[] {
    if (end !== name) throw new TransferError(`the end of the table ${name} should stand here`);
    if (rows !== this.#rows) throw new TransferError(`the table should have ${rows} rows and has ${this.#rows}`);
    if (sha256 !== this.#hash.digest("hex")) throw new TransferError("the rows of the table differ from their checksum");
    const portion = this.#portion.length === 0 ? [] : [this.#takePortion()];
    const items: ExportItem[] = [...portion, { kind: "end", table: this.#table, rows: this.#rows }];
    this.#table += 1;
    this.#rows = 0;
    this.#hash = createHash("sha256");
    return items;
  }
}

function headerOf(path: string, text: string): ExportHeader {
  const header = parsedHeader(text);
  if (header?.format !== FORMAT) throw new TransferError(`${path} is not a file of millrace export`);
  const { version = 0, schema = 0, tables = [] } = header;
  const newer = `${path} was written by a newer Millrace: use that version, or a newer one`;
  if (version > FORMAT_VERSION) throw new TransferError(`${newer} (format ${version}, known ${FORMAT_VERSION})`);
  if (schema > MIGRATIONS.length) throw new TransferError(`${newer} (schema ${schema}, known ${MIGRATIONS.length})`);
  for (const { name, columns } of tables) {
    if (!MOVED_TABLES.some((table) => table.name === name)) throw new TransferError(`${newer} (unknown table ${name})`);
    const unknown = columns.find(({ kind }) => !CELL_KINDS.includes(kind));
    if (unknown !== undefined) throw new TransferError(`${newer} (unknown kind ${unknown.kind} of the column ${unknown.name})`);
  }
  if (header.id === undefined || header.owner === undefined) throw new TransferError(`${path} has an incomplete first line`);
  return header as ExportHeader;
}

function parsedHeader(text: string): Partial<ExportHeader> | null {
  try {
    return JSON.parse(text) as Partial<ExportHeader> | null;
  } catch {
    return null;
  }
}
