import t from "tap";
import { compiledOnce, openDriver } from "#storage/sqlite/driver";

const OPTIONS = { readonly: false, busyWaitMs: 0 };

t.test("a statement is compiled for any value of its parameters", async (t) => {
  const database = openDriver(":memory:", OPTIONS);
  database.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, y TEXT); CREATE INDEX t_one ON t (y) WHERE x = 1");
  const planOf = (condition: string, ...values: number[]) =>
    database
      .prepareRaw<[number, number, number, string]>(`EXPLAIN QUERY PLAN SELECT id FROM t WHERE ${condition} ORDER BY y`)
      .all(...values)
      .map(([, , , step]) => step)
      .join("; ");
  t.match(planOf("x = 1"), /t_one/, "the condition implies that of the index");
  t.notMatch(planOf("x = ?", 1), /t_one/, "the plan does not depend on the value");
  database.close();
});

t.test("parameters are found outside of texts, names and comments", async (t) => {
  const cases: readonly [sql: string, compiled: string][] = [
    ["SELECT 1", "SELECT 1"],
    ["SELECT ? WHERE id IN (?, ?) LIMIT ?", "SELECT +? WHERE id IN (+?, +?) LIMIT +?"],
    ["SELECT 'it''s ?', \"a?\", ?", "SELECT 'it''s ?', \"a?\", +?"],
    ["SELECT -- why?\n ?", "SELECT -- why?\n +?"],
  ];
  for (const [sql, compiled] of cases) t.equal(compiledOnce(sql), compiled);
});

t.test("values keep their types and order", async (t) => {
  const database = openDriver(":memory:", OPTIONS);
  database.exec("CREATE TABLE t (a INTEGER, b TEXT, c BLOB, d REAL)");
  database.prepare("INSERT INTO t (a, b, c, d) VALUES (?, ?, ?, ?)").run(7, "it's ?", Buffer.from([1, 2]), 1.5);
  t.same(database.prepareRaw("SELECT a, b, c, d, typeof(a) || typeof(b) || typeof(c) || typeof(d) FROM t WHERE a = ?").all(7), [
    [7, "it's ?", Buffer.from([1, 2]), 1.5, "integertextblobreal"],
  ]);
  t.same(database.prepareRaw("SELECT b FROM t WHERE b = ?").all("7"), []);
  t.same(database.prepareRaw("SELECT a FROM t WHERE a = ?").all("7"), [[7]], "a compared text takes the column's affinity");
  database.close();
});
