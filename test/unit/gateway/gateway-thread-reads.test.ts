/** Reads on the gateway's thread: none may take longer the more rows a run has, or the more runs wait. */
import t from "tap";
import { READS } from "#gateway/reads/read-table";
import { ROWS } from "#gateway/reads/reads";
import { type QueryArguments, type QueryName, runPart, runQuery } from "#storage/queries/named";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { openStore } from "../../support/storage-rows.ts";

/** Steps of a query plan that read at most one row. */
const ONE_ROW = /^SEARCH \w+ USING (INTEGER PRIMARY KEY \(rowid=\?\)|PRIMARY KEY \(name=\?\))( LEFT-JOIN)?$/;
/** Steps that read a bounded number of rows: the skipped fires of a schedule (SKIP_AHEAD_FIRES_MAX). */
const FEW_ROWS = new Set(["SEARCH k USING PRIMARY KEY (schedule_id=? AND fire>?)", "CORRELATED SCALAR SUBQUERY 1"]);
const COUNT_OF_SKIPS = "(SELECT count(*) FROM skips k WHERE k.schedule_id = s.id AND k.fire > ?)";

class RecordedStatements extends Statements {
  readonly texts = new Set<string>();

  override raw<Row>(sql: string) {
    this.texts.add(sql);
    return super.raw<Row>(sql);
  }
}

function stepsOf(database: Database, sql: string): string[] {
  const values = Array.from(sql.matchAll(/\?/g), () => 1);
  const plan = database.prepareRaw<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  return plan.map(([, , , step]) => step);
}

t.test("the row of every stream message is read by its key", async (t) => {
  const { database } = openStore();
  for (const name of new Set(Object.values(ROWS)) as Set<QueryName>) {
    const statements = new RecordedStatements(database);
    runQuery(statements, name, { id: 1, name: "n", live: [], now_us: 1 } as QueryArguments[typeof name]);
    t.ok(statements.texts.size > 0, `${name} reads the store`);
    for (const sql of statements.texts) {
      const others = stepsOf(database, sql).filter((step) => !ONE_ROW.test(step) && !FEW_ROWS.has(step));
      t.same(others, [], `${name}: ${sql.slice(0, 60)}`);
    }
  }
});

t.test("no GET that is answered on this thread counts rows", async (t) => {
  const { database } = openStore();
  const here = Object.entries(READS).filter(([, read]) => read.here({}));
  t.ok(here.length > 5);
  for (const [operation, read] of here) {
    const statements = new RecordedStatements(database);
    const args = read.arguments(1, { limit: 10, sort: "created_desc" } as never, { live: [], now_us: 1, name: "n" });
    runPart(statements, read.query, args);
    t.ok(statements.texts.size > 0, `${operation} reads the store`);
    for (const sql of statements.texts) t.notMatch(sql.replace(COUNT_OF_SKIPS, ""), /\bcount\(/, operation);
  }
});
