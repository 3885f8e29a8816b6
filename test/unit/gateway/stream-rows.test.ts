/** The gateway's thread reads the row of each stream message, so no such read may take longer the more rows a run has. */
import t from "tap";
import { ROWS } from "#gateway/reads/reads";
import { type QueryArguments, type QueryName, runQuery } from "#storage/queries/named";
import { Statements } from "#storage/sqlite/statements";
import { openStore } from "../../support/storage-rows.ts";

/** Steps of a query plan that read at most one row. */
const ONE_ROW = /^SEARCH \w+ USING (INTEGER PRIMARY KEY \(rowid=\?\)|PRIMARY KEY \(name=\?\))( LEFT-JOIN)?$/;
/** Steps that read a bounded number of rows: the skipped fires of a schedule (SKIP_AHEAD_FIRES_MAX). */
const FEW_ROWS = new Set(["SEARCH k USING PRIMARY KEY (schedule_id=? AND fire>?)", "CORRELATED SCALAR SUBQUERY 1"]);

class RecordedStatements extends Statements {
  readonly texts = new Set<string>();

  override raw<Row>(sql: string) {
    this.texts.add(sql);
    return super.raw<Row>(sql);
  }
}

t.test("the row of every stream message is read by its key", async (t) => {
  const { database } = openStore();
  for (const name of new Set(Object.values(ROWS)) as Set<QueryName>) {
    const statements = new RecordedStatements(database);
    runQuery(statements, name, { id: 1, name: "n", live: [], now_us: 1 } as QueryArguments[typeof name]);
    t.ok(statements.texts.size > 0, `${name} reads the store`);
    for (const sql of statements.texts) {
      const values = Array.from(sql.matchAll(/\?/g), () => 1);
      const steps = database.prepareRaw<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
      const others = steps.map(([, , , step]) => step).filter((step) => !ONE_ROW.test(step) && !FEW_ROWS.has(step));
      t.same(others, [], `${name}: ${sql.slice(0, 60)}`);
    }
  }
});
