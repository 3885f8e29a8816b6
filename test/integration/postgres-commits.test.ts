/**
 * Random batches over all row operations leave equal rows in SQLite and PostgreSQL, with repeated and refused commits, lost
 * connections and reopened stores among them. MILLRACE_TEST_BATCHES sets their number.
 */
import t, { type Test } from "tap";
import type { CommitRequest, WritableStore } from "#storage/port";
import { Connection } from "#storage/postgres/connection";
import { openPostgresStore } from "#storage/postgres/store";
import { OPERATION_NAMES } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { postgresPrograms, startPostgres, type TestDatabase, urlOf } from "../support/postgres-server.ts";
import { numbersFrom, RandomBatches } from "../support/random-batches.ts";
import { request } from "../support/storage-rows.ts";
import { dumpPostgres, dumpSqlite } from "../support/store-dump.ts";

const { MILLRACE_TEST_BATCHES: batches = "600", MILLRACE_TEST_SEED: seed = "1", MILLRACE_TEST_POSTGRES: asked } = process.env;
const BATCHES_PER_DUMP = 50;
/** Commits between two disturbances, on average. */
const COMMITS_BETWEEN = 12;
const nowUs = () => 1_000;

/** Refuses commits while the table has a row: when the transaction ends, as a full disk may, or at its first statement. */
const REFUSALS = `CREATE TABLE refusing (late boolean);
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT 1 FROM refusing WHERE late = (TG_ARGV[0] = 'late')) THEN
      RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER early BEFORE UPDATE ON members FOR EACH ROW EXECUTE FUNCTION refuse('early');
  CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON members DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse('late')`;
const END_WRITER = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'millrace %'";

const programs = postgresPrograms();
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

/** The same commits into both stores. */
class BothStores {
  readonly #t: Test;
  readonly #database: TestDatabase;
  readonly #admin: Connection;
  readonly #sqlite = openWriteHandle(":memory:", { durability: "normal", salt: 1 });
  #writer = new Writer(this.#sqlite, { stream: "continue", nowUs });
  #store: WritableStore;

  private constructor(t: Test, database: TestDatabase, admin: Connection, store: WritableStore) {
    this.#t = t;
    this.#database = database;
    this.#admin = admin;
    this.#store = store;
  }

  static async open(t: Test, database: TestDatabase): Promise<BothStores> {
    const options = { stream: "continue", nowUs, salt: 1 } as const;
    const store = await openPostgresStore(urlOf(database), options);
    const admin = await Connection.open(database);
    await admin.run(REFUSALS);
    return new BothStores(t, database, admin, store);
  }

  get next(): Writer {
    return this.#writer;
  }

  async commit(batch: CommitRequest): Promise<void> {
    const result = this.#writer.commit(batch);
    this.#t.strictSame(await this.#store.commit(batch), { kind: "applied", result });
  }

  async repeat(batch: CommitRequest): Promise<void> {
    const result = this.#writer.commit(batch);
    this.#t.strictSame(await this.#store.commit(batch), { kind: "already", result });
  }

  /** PostgreSQL refuses the commit; nothing of it may be left. */
  async refuse(batch: CommitRequest, when: "early" | "late"): Promise<void> {
    await this.#admin.run(`INSERT INTO refusing VALUES (${when === "late"})`);
    this.#t.match(await this.#store.commit(batch), { kind: "refused", error: /could not extend file/, disk_full: true });
    this.#t.equal(await this.#store.probe(), true, "the row of the owner is not touched by a probe");
    await this.#admin.run("DELETE FROM refusing");
  }

  async cut(): Promise<void> {
    await this.#admin.run(END_WRITER);
  }

  async reopen(): Promise<void> {
    await this.#store.close(false);
    const options = { stream: "continue", nowUs } as const;
    const store = await openPostgresStore(urlOf(this.#database), { ...options, former: this.#store.owner });
    this.#writer = new Writer(this.#sqlite, { stream: "continue", nowUs, former: this.#writer.owner });
    this.#t.strictSame(
      [store.number, store.nextLogId, store.latestSeq, store.decidedCommands],
      [this.#writer.number, this.#writer.nextLogId, this.#writer.latestSeq, this.#writer.decidedCommands],
    );
    this.#store = store;
  }

  async compare(after: number): Promise<void> {
    const [expected, found] = [dumpSqlite(this.#sqlite), await dumpPostgres(this.#admin)];
    for (const [table, rows] of Object.entries(expected)) {
      const others = found[table] ?? [];
      const [inSqlite, inPostgres] = [new Set(rows), new Set(others)];
      const only = { sqlite: rows.filter((row) => !inPostgres.has(row)), postgres: others.filter((row) => !inSqlite.has(row)) };
      this.#t.strictSame(only, { sqlite: [], postgres: [] }, `the rows of ${table} after ${after} batches`);
      this.#t.equal(others.length, rows.length);
    }
  }

  /** The first events that are left: those before were trimmed. */
  async firstEvent(): Promise<number> {
    return (await this.#admin.rows<[number]>("SELECT min(id) FROM events"))[0]?.[0] ?? 0;
  }

  async close(): Promise<void> {
    await this.#store.close(false);
    await this.#admin.close();
    this.#sqlite.close();
  }
}

t.test("equal rows after random batches", { skip, timeout: 600_000 }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const both = await BothStores.open(t, await server.database("random"));
  const next = numbersFrom(Number(seed) + 1);
  const random = new RandomBatches(Number(seed));
  for (let number = 1; number <= Number(batches); number += 1) {
    const batch = request(both.next, number, random.batch());
    const disturbance = next(COMMITS_BETWEEN);
    if (disturbance === 0) await both.refuse(batch, next(2) === 0 ? "early" : "late");
    if (disturbance === 1) await both.cut();
    await both.commit(batch);
    if (disturbance === 2) await both.repeat(batch);
    if (disturbance === 3 && next(3) === 0) await both.reopen();
    if (number % BATCHES_PER_DUMP === 0) await both.compare(number);
  }
  await both.compare(Number(batches));
  t.strictSame(
    OPERATION_NAMES.filter((name) => !random.covered.has(name)),
    [],
    "every operation occurred",
  );
  t.ok((await both.firstEvent()) > 1, "history was trimmed");
  await both.close();
});
