/** The doctor finds in a store in PostgreSQL what it finds in the same store in SQLite, for each damage of a sound store. */
import { join } from "node:path";
import t from "tap";
import { SecretBox } from "#storage/home/secret-box";
import { checkStore, INVARIANTS } from "#storage/invariants/check-store";
import type { InvariantFacts } from "#storage/invariants/invariant";
import { Connection } from "#storage/postgres/connection";
import { migratePostgres } from "#storage/postgres/migrate";
import { openPostgresReadHandle } from "#storage/postgres/read-handle";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { hasOldHistory } from "#storage/write/trim-history";
import { keyFile } from "../support/key-file.ts";
import { copyToPostgres } from "../support/postgres-copy.ts";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { DAMAGES, SECRET, soundStore } from "../support/sound-store.ts";
import { testFolder } from "../support/test-folder.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

/** Secrets, fan-ins and total amounts have no row in DAMAGES. */
const MORE_DAMAGES = [
  ["I12", `UPDATE events SET payload = '{"url":"https://x/${SECRET}"}' WHERE id = 1`],
  ["I12", `UPDATE log_blocks SET lines = '[[null,20,"l",3,"using ${SECRET}"]]'`],
  [
    "I9",
    `INSERT INTO names (id, name) VALUES (900, 'flow.fan_in');
     INSERT INTO events (id, name, occurred, run_id, flow_id, payload) SELECT 900 + id, 900, 1, id, 1, '{"key":"day","value":"d"}'
     FROM runs WHERE id < 3`,
  ],
] as const;

t.test("findings in both stores", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const place = await server.database("damaged");
  const connection = await Connection.open(place);
  await migratePostgres(connection);
  // A damage that this index refuses is looked for all the same.
  await connection.run("DROP INDEX runs_schedule");
  const handle = openPostgresReadHandle(urlOf(place));
  t.teardown(async () => {
    handle.close();
    await connection.close();
  });
  const box = new SecretBox(keyFile(join(testFolder(t), "secret.key")));
  const facts: InvariantFacts = { totals: null, open: (sealed) => box.open(sealed) };

  async function copy(database: Database): Promise<void> {
    const tables = await connection.rows<[string]>(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'",
    );
    await connection.run(`TRUNCATE ${tables.map(([table]) => table).join(", ")}`);
    await copyToPostgres(database, connection);
  }

  function findings(database: Database): Map<string, string[]> {
    const checks = checkStore(database, facts);
    return new Map(checks.map(({ id, findings }) => [id, findings.map(({ level, text }) => `${level}: ${text}`).sort()]));
  }

  await t.test("a sound store has none", async (t) => {
    const { database } = soundStore(box);
    await copy(database);
    t.same([...findings(handle).values()].flat(), []);
  });

  const found = new Set<string>();
  for (const [id, sql] of [...DAMAGES, ...MORE_DAMAGES]) {
    await t.test(`${id}: ${sql}`, async (t) => {
      const { database } = soundStore(box);
      database.exec(sql);
      await copy(database);
      const expected = findings(database);
      t.not(expected.get(id)?.length, 0);
      t.same(findings(handle), expected);
      found.add(id);
    });
  }
  t.same(
    INVARIANTS.filter(({ id, check }) => check !== null && !found.has(id)).map(({ id }) => id),
    [],
    "each invariant has found something",
  );

  await t.test("history that retention deletes", async (t) => {
    const { database } = soundStore(box);
    await copy(database);
    const both = [database, handle].map((each) => new Statements(each));
    const old = (beforeUs: number, lastEvent: number) => both.map((statements) => hasOldHistory(statements, beforeUs, lastEvent));
    t.same(old(0, 0), [false, false]);
    t.same(old(Number.MAX_SAFE_INTEGER, 10_000), [true, true], "events");
    t.same(old(6, 0), [true, true], "a firing and an expectation");
  });
});
