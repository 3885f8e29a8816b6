/** A SQLite store with rows of random values in every table that is moved between stores. */
import { deflateRawSync } from "node:zlib";
import { COUNTED } from "#storage/schema/codes";
import type { Database, SqlValue } from "#storage/sqlite/driver";
import { MOVED_TABLES } from "#storage/transfer/tables";

type Numbers = (limit: number) => number;

/** Numbers from 0 to below `limit`, from a seed. */
function numbersFrom(seed: number): Numbers {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const TEXTS = [
  "",
  "etl",
  "Ünïcode 💡",
  'quote " and \\ and , and {}',
  "line\nbreak\tand \u2028",
  "NULL",
  "\\x00",
  "a".repeat(3_000),
];
const CODES =
  /^(state_type|secret|active|persist|cancelled|prefiltered|enabled|assigned|alone|uncounted|parked|holds|completed|kind)$/;
const SINGLE = ["clock"];

interface Column {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** @param rows so many in each table */
export function fillRandomly(database: Database, seed: number, rows: number): void {
  const next = numbersFrom(seed);
  database.exec("BEGIN");
  database.exec("DELETE FROM settings WHERE name <> 'event_salt'");
  for (const { name } of MOVED_TABLES) {
    const columns = database.prepare<Column>('SELECT name, type, "notnull", pk FROM pragma_table_info(?)').all(name);
    const names = columns.map((column) => column.name).join(", ");
    const insert = database.prepareRaw(`INSERT INTO ${name} (${names}) VALUES (${columns.map(() => "?").join(", ")})`);
    for (let row = 1; row <= (SINGLE.includes(name) ? 1 : rows); row += 1)
      insert.run(...columns.map((column) => randomValue(name, column, row, next)));
  }
  for (const [index, counter] of COUNTED.entries())
    database.prepareRaw("INSERT INTO counters (name, value) VALUES (?, ?)").run(counter, rows + index);
  database.prepareRaw("UPDATE members SET epoch = 7, number = 99, result = '[3,4,5]', commands = '[1]'").run();
  database.exec("COMMIT");
}

function randomValue(table: string, { name, type, notnull, pk }: Column, row: number, next: Numbers): SqlValue {
  if (notnull === 0 && pk === 0 && next(3) === 0) return null;
  if (table === "log_blocks" && name === "lines")
    return next(2) === 0 ? `[[null,20,"l",1,"ä${row}"]]` : deflateRawSync(`[${row}]`);
  if (name === "resource")
    return JSON.stringify({ kind: `kind${next(3)}`, ...(next(2) === 0 && { id: `id ${row}` }), size: row });
  // A small number is stored in a column of any size, and the number of the row keeps keys apart.
  if (type === "INTEGER" && pk > 0) return CODES.test(name) ? next(9) : row;
  if (type === "INTEGER") return CODES.test(name) ? next(9) : (next(3) - 1) * next(2 ** 31) * 2 ** next(22) + row;
  if (type === "REAL") return next(2 ** 31) / 7;
  if (type === "BLOB") return Buffer.from([...Array.from({ length: 12 + next(9) }, () => next(256)), row % 256, row >> 8]);
  return `${TEXTS[next(TEXTS.length)] ?? ""}${row}`;
}
