/**
 * The lists of a store with a million runs, read from SQLite and from PostgreSQL with the same rows, side by side.
 *
 *   node --conditions=millrace-src test/load/postgres-lists.ts [--runs 1000000] [--calls 15] [--only TEXT] [--url URL] [--path FILE]
 *
 * --url and --path name stores that an earlier call filled; without them, both stores are made and removed. --only chooses the
 * lists with this text in their label. --explain prints PostgreSQL's plans of these lists.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openReadHandle } from "#storage/read/read-handle";
import type { Database, SqlValue, Statement } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { type ListCall, listCalls } from "./list-calls.ts";
import { filledStore, fillPostgres, fillSqlite } from "./list-stores.ts";

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "1000000" },
    calls: { type: "string", default: "15" },
    only: { type: "string", default: "" },
    url: { type: "string" },
    path: { type: "string" },
    explain: { type: "boolean", default: false },
  },
});
const RUNS = Number(options.runs);
const CALLS = Number(options.calls);
const WARM_UP = 2;
/** As the server of a measurement of commits has it. */
const SERVER = ["shared_buffers = 512MB", "fsync = off"];

interface Figure {
  leastMs: number;
  medianMs: number;
  answer: string | null;
}

function measure({ call }: ListCall, statements: Statements): Figure {
  const took: number[] = [];
  let answer: string | null = null;
  for (let index = -WARM_UP; index < CALLS; index += 1) {
    const before = performance.now();
    answer = call(statements, index);
    if (index >= 0) took.push(performance.now() - before);
  }
  took.sort((a, b) => a - b);
  return { leastMs: took[0] ?? 0, medianMs: took[Math.floor(took.length / 2)] ?? 0, answer };
}

function compare(sqlite: Database, postgres: Database): void {
  const [left, right] = [new Statements(sqlite), new Statements(postgres)];
  console.log("list | SQLite least, median ms | PostgreSQL least, median ms | ratio of the least");
  for (const each of listCalls(filledStore(RUNS))) {
    if (!each.label.includes(options.only)) continue;
    const [ours, theirs] = [measure(each, left), measure(each, right)];
    const figure = ({ leastMs, medianMs }: Figure) => `${leastMs.toFixed(2)}, ${medianMs.toFixed(2)}`;
    const same = ours.answer === theirs.answer ? "" : " | the answers differ";
    const ratio = (theirs.leastMs / ours.leastMs).toFixed(1);
    console.log(`${each.label} | ${figure(ours)} | ${figure(theirs)} | ${ratio}${same}`);
  }
}

/** Prints the plan of each statement before its rows are read. */
function explaining(database: Database): Database {
  const explained = <Row>(sql: string, statement: Statement<Row>): Statement<Row> => {
    const explain = (values: readonly SqlValue[]) => {
      const plan = database.prepareRaw<[string]>(`EXPLAIN (ANALYZE, BUFFERS) ${sql}`).all(...values);
      console.log(`\n${sql}\n${JSON.stringify(values).slice(0, 200)}\n${plan.map(([line]) => line).join("\n")}`);
    };
    const before =
      <Result>(read: (...values: SqlValue[]) => Result) =>
      (...values: SqlValue[]): Result => {
        explain(values);
        return read(...values);
      };
    return {
      run: (...values) => statement.run(...values),
      get: before((...values) => statement.get(...values)),
      all: before((...values) => statement.all(...values)),
      iterate: before((...values) => statement.iterate(...values)),
    };
  };
  return { ...database, prepareRaw: <Row>(sql: string) => explained(sql, database.prepareRaw<Row>(sql)) };
}

function explain(postgres: Database): void {
  const statements = new Statements(explaining(postgres));
  for (const { label, call } of listCalls(filledStore(RUNS))) {
    if (!label.includes(options.only)) continue;
    console.log(`\n== ${label}`);
    call(statements, 0);
  }
}

function read(path: string, url: string): void {
  const [sqlite, postgres] = [openReadHandle(path), openReadHandle(url)];
  if (options.explain) explain(postgres);
  else compare(sqlite, postgres);
  sqlite.close();
  postgres.close();
}

async function withServer(use: (url: string) => void): Promise<void> {
  const programs = postgresPrograms();
  if (programs === null) throw new Error("PostgreSQL is not installed");
  const server = await startPostgres(programs, SERVER);
  try {
    const place = await server.database("lists");
    const began = performance.now();
    await fillPostgres(place, RUNS);
    console.log(`PostgreSQL filled in ${((performance.now() - began) / 1000).toFixed(0)} s: ${urlOf(place)}`);
    use(urlOf(place));
  } finally {
    server.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), "millrace-lists-"));
const { path = join(folder, "db.sqlite"), url } = options;
try {
  if (!existsSync(path)) {
    const began = performance.now();
    fillSqlite(path, RUNS);
    console.log(`SQLite filled in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  if (url === undefined) await withServer((made) => read(path, made));
  else read(path, url);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
