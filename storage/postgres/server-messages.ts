/** Messages of the server that describe a result or an error. */

/** A column of a result. */
export interface ResultColumn {
  name: string;
  /** Number of its type, as in PostgreSQL's catalogue pg_type. */
  type: number;
}

const NAME_END = 0;
/** Of a column, after its name: table, number within the table, type, length of the type, modifier, format. */
const TYPE_AT = 6;
const COLUMN_BYTES = 18;

/** The columns of a RowDescription whose content begins here. */
export function columnsOf(bytes: Buffer, from: number): ResultColumn[] {
  const columns: ResultColumn[] = [];
  let at = from + 2;
  for (let left = bytes.readInt16BE(from); left > 0; left -= 1) {
    const end = bytes.indexOf(NAME_END, at);
    columns.push({ name: bytes.toString("utf8", at, end), type: bytes.readInt32BE(end + 1 + TYPE_AT) });
    at = end + 1 + COLUMN_BYTES;
  }
  return columns;
}

/** Names of the fields of an error. */
const FIELDS: Readonly<Record<string, string>> = { S: "severity", C: "code", M: "message" };

/** The error of an ErrorResponse, with `code` (SQLSTATE) and `severity`. */
export function errorOf(bytes: Buffer, from: number, to: number): Error {
  const fields: Record<string, string> = {};
  for (let at = from; at < to && bytes[at] !== NAME_END; ) {
    const end = bytes.indexOf(NAME_END, at);
    const name = FIELDS[bytes.toString("latin1", at, at + 1)];
    if (name !== undefined) fields[name] = bytes.toString("utf8", at + 1, end);
    at = end + 1;
  }
  const { message, ...rest } = fields;
  return Object.assign(new Error(message), rest);
}
