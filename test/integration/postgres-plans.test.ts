/**
 * PostgreSQL's plans of the lists: a page is read in the order of an index, and no list of runs, task runs or events reads a
 * whole table. The answers are those of SQLite.
 */
import { join } from "node:path";
import t from "tap";
import { SEARCHED_RUNS_MAX } from "#protocol/limits";
import { openPostgresReadHandle } from "#storage/postgres/read-handle";
import { openReadHandle } from "#storage/read/read-handle";
import type { Database, SqlValue, Statement } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { listCalls } from "../load/list-calls.ts";
import { filledStore, fillPostgres, fillSqlite } from "../load/list-stores.ts";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { testFolder } from "../support/test-folder.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

/** More than a search scans. */
const RUNS = SEARCHED_RUNS_MAX + 5_000;

/** Reads a whole table. */
const WHOLE_TABLE = /Seq Scan on (?:ended_runs|task_runs|events|log_blocks|stretches)/;
/** Sorts what it reads of a large table. */
const SORTED = /Sort\n *Sort Key: .*\n *->.* on (?:ended_runs|task_runs|events|log_blocks)/;

/** Finds runs first, whose number is bounded, and sorts them (storage/queries/runs-page.ts). */
const FOUND_FIRST = " OFFSET 0) AS found";

/** Calls `see` with the plan of each statement that is read. */
function explaining(database: Database, see: (sql: string, plan: string) => void): Database {
  const explained = <Row>(sql: string, statement: Statement<Row>): Statement<Row> => {
    const explain = (values: readonly SqlValue[]): void => {
      const lines = database.prepareRaw<[string]>(`EXPLAIN (COSTS OFF) ${sql}`).all(...values);
      see(sql, lines.map(([line]) => line).join("\n"));
    };
    return {
      run: (...values) => statement.run(...values),
      get: (...values) => {
        explain(values);
        return statement.get(...values);
      },
      all: (...values) => {
        explain(values);
        return statement.all(...values);
      },
      iterate: (...values) => {
        explain(values);
        return statement.iterate(...values);
      },
    };
  };
  return { ...database, prepareRaw: <Row>(sql: string) => explained(sql, database.prepareRaw<Row>(sql)) };
}

t.test("plans of lists", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const place = await server.database("lists");
  await fillPostgres(place, RUNS);
  const path = join(testFolder(t), "db.sqlite");
  fillSqlite(path, RUNS);
  const sqlite = new Statements(openReadHandle(path));
  const handle = openPostgresReadHandle(urlOf(place));
  t.teardown(() => {
    sqlite.database.close();
    handle.close();
  });
  let plans = 0;
  for (const { label, call } of listCalls(filledStore(RUNS))) {
    const whole: string[] = [];
    const sorted: string[] = [];
    const postgres = new Statements(
      explaining(handle, (sql, plan) => {
        plans += 1;
        if (WHOLE_TABLE.test(plan)) whole.push(`${sql}\n${plan}`);
        if (SORTED.test(plan) && !sql.includes("GROUP BY") && !sql.includes(FOUND_FIRST)) sorted.push(`${sql}\n${plan}`);
      }),
    );
    t.equal(call(postgres, 0), call(sqlite, 0), `${label}: the answer`);
    t.same(whole, [], `${label}: no whole table`);
    t.same(sorted, [], `${label}: no sort`);
  }
  t.ok(plans > 100, `${plans} plans`);
});
