import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { bytesToUuid, uuidToBytes } from "#protocol/values/uuid";
import type { Primitive } from "#protocol/wire/feed";
import { HomeLockedError, lockHome } from "#storage/home/lock";
import { MIGRATIONS } from "#storage/migrations/index";
import { openReadHandle } from "#storage/read/read-handle";
import { ReadPool } from "#storage/read/read-pool";
import { eventUuid } from "#storage/schema/external-id";
import { migrate } from "#storage/schema/migrate";
import { openDriver } from "#storage/sqlite/driver";
import { checkLibrary } from "#storage/sqlite/pragmas";
import { openWriteHandle } from "#storage/write/write-handle";
import { openStore, putFlow, putRun, type RunSpec, request } from "../../support/storage-rows.ts";

const OPTIONS = { durability: "normal" } as const;
const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "n", tags: [], type: "Completed", stateName: "Completed", created: 1, start: 1, end: 2 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

t.test("a store file is private, in WAL mode, vacuumed step by step, and has one salt for good", async (t) => {
  const path = join(t.testdir(), "db.sqlite");
  const database = openWriteHandle(path, OPTIONS);
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal(statSync(`${path}-wal`).mode & 0o777, 0o600);
  t.equal(database.pragma("journal_mode"), "wal");
  t.equal(database.pragma("auto_vacuum"), 2);
  t.equal(database.pragma("synchronous"), 1);
  const salt = () => database.prepare("SELECT value FROM settings WHERE name = 'event_salt'").get();
  const before = salt();
  database.close();
  const again = openWriteHandle(path, { durability: "full" });
  t.equal(again.pragma("synchronous"), 2);
  t.same(again.prepare("SELECT value FROM settings WHERE name = 'event_salt'").get(), before);
  again.close();
});

t.test("a read handle sees commits and can't write", async (t) => {
  const path = join(t.testdir(), "db.sqlite");
  const database = openWriteHandle(path, OPTIONS);
  const reader = openReadHandle(path);
  database.exec("INSERT INTO settings VALUES ('a', 'b')");
  t.same(reader.prepare("SELECT value FROM settings WHERE name = 'a'").get(), { value: "b" });
  t.throws(() => reader.exec("DELETE FROM settings"), /readonly/);
  reader.close();
  database.close();
});

t.test("a store from a newer version, a damaged file and an old library are refused with a clear error", async (t) => {
  const path = join(t.testdir({ "bad.sqlite": "not a database, but long enough to look like one".repeat(100) }), "db.sqlite");
  const database = openWriteHandle(path, OPTIONS);
  database.exec("PRAGMA user_version = 99");
  database.close();
  t.throws(() => openWriteHandle(path, OPTIONS), { name: "StorageError", fault: "newer", message: /version 99.*newer Millrace/ });
  t.throws(() => openWriteHandle(path.replace("db.sqlite", "bad.sqlite"), OPTIONS), { name: "StorageError", fault: "corrupt" });
  t.throws(() => checkLibrary("3.51.2"), { name: "StorageError", fault: "library" });
  for (const version of ["3.51.3", "3.54.1", "4.0"]) t.doesNotThrow(() => checkLibrary(version));
});

t.test("the database of another program is refused for what it is, and stays as it was", async (t) => {
  const dir = t.testdir();
  for (const version of [0, 1, 7]) {
    const path = join(dir, `other-${version}.sqlite`);
    const other = openDriver(path, { readonly: false, busyWaitMs: 0 });
    other.exec(`CREATE TABLE runs (id INTEGER); CREATE TABLE migrations (id INTEGER); PRAGMA user_version = ${version}`);
    other.close();
    const before = readFileSync(path);
    const refusal = { name: "StorageError", fault: "foreign", message: /another program.*choose another home/ };
    t.throws(() => openWriteHandle(path, OPTIONS), refusal);
    t.throws(() => openReadHandle(path), refusal);
    t.same(readFileSync(path), before);
  }
});

t.test("runs of a store from before attempts counted retries keep their number of reruns", async (t) => {
  const database = openDriver(":memory:", { readonly: false, busyWaitMs: 0 });
  migrate(database, MIGRATIONS.slice(0, 1));
  const columns =
    "external_id, flow_id, state_type, state_timestamp, created_at, priority, report_seq, crash_count, failure_count";
  const insert = `INSERT INTO runs (id, ${columns}, created_by, name, attempt) VALUES (?, ?, 1, 0, 0, 0, 0, 0, 0, 0, 'x', 'n', ?)`;
  for (const [id, attempt] of [
    [1, 0],
    [2, 3],
  ] as const)
    database.prepare(insert).run(id, `${id}`, attempt);
  migrate(database);
  t.same(database.prepareRaw<[number, number]>("SELECT attempt, reruns FROM runs ORDER BY id").all(), [
    [0, 0],
    [3, 3],
  ]);
});

t.test("runs of a store from before task runs were counted get the counts of their task runs", async (t) => {
  const database = openDriver(":memory:", { readonly: false, busyWaitMs: 0 });
  migrate(database, MIGRATIONS.slice(0, 5));
  const counts = "priority, attempt, report_seq, crash_count, failure_count";
  const run = `INSERT INTO runs (id, external_id, flow_id, state_type, state_timestamp, created_at, ${counts}, created_by, name)
    VALUES (?, ?, 1, 2, 0, 0, 0, 0, 0, 0, 0, 'x', 'n')`;
  for (const id of [1, 2]) database.prepare(run).run(id, `${id}`);
  const task = `INSERT INTO task_runs (id, external_id, run_id, state_type, state_timestamp, crash_count, failure_count, created_at,
    name, task_key, dynamic_key) VALUES (?, ?, 1, ?, 0, 0, 0, 0, 't', 'k', 'd')`;
  for (const [id, type] of [3, 2, 3, 8].entries()) database.prepare(task).run(id, `${id}`, type);
  migrate(database);
  const stored = database.prepareRaw<[string | null]>("SELECT task_counts FROM runs ORDER BY id").all();
  t.same(
    stored.map(([text]) => JSON.parse(text ?? "null")),
    [{ Running: 1, Completed: 2, Cancelling: 1 }, null],
  );
});

t.test(
  "runs of a store in which the sign of an assignment meant its end keep their assignment, and whether it holds them",
  async (t) => {
    const database = openDriver(":memory:", { readonly: false, busyWaitMs: 0 });
    migrate(database, MIGRATIONS.slice(0, 6));
    const counts = "priority, attempt, report_seq, crash_count, failure_count";
    const insert = `INSERT INTO runs (id, external_id, flow_id, state_type, state_timestamp, created_at, ${counts}, created_by, name, assignment_id)
    VALUES (?, ?, 1, 2, 0, 0, 0, 0, 0, 0, 0, 'x', 'n', ?)`;
    for (const [id, assignment] of [5, -7, null].entries()) database.prepare(insert).run(id, `${id}`, assignment);
    migrate(database);
    t.same(database.prepareRaw<[number | null, number]>("SELECT assignment_id, assigned FROM runs ORDER BY id").all(), [
      [5, 1],
      [7, 0],
      [null, 0],
    ]);
  },
);

t.test("a failed migration leaves the version before it", async (t) => {
  const database = openDriver(":memory:", { readonly: false, busyWaitMs: 0 });
  const broken = { name: "broken", sql: "CREATE TABLE half (id INTEGER); CREATE TABLE half (id INTEGER)" };
  t.throws(() => migrate(database, [...MIGRATIONS, broken]));
  t.equal(database.pragma("user_version"), MIGRATIONS.length);
  t.equal(database.pragma("table_info(half)"), undefined);
  t.same(migrate(database), [], "and nothing is left to do");
});

t.test("external ids keep their text; those of events are UUIDv7 of their time", async (t) => {
  const text = "01900000-abcd-7eef-8123-456789abcdef";
  t.equal(bytesToUuid(uuidToBytes(text)), text);
  t.equal(bytesToUuid(uuidToBytes(text.toUpperCase())), text);
  const one = eventUuid(7, 1, 1_700_000_000_123_456);
  t.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(Number.parseInt(one.replaceAll("-", "").slice(0, 12), 16), 1_700_000_000_123);
  const many = new Set(Array.from({ length: 100_000 }, (_, id) => eventUuid(7, id, 5_000_000)));
  t.equal(many.size, 100_000, "no two alike");
  t.notSame(eventUuid(8, 1, 1_700_000_000_123_456), one, "another store, other ids");
});

const TAKE = `
  const { lockHome } = await import("#storage/home/lock");
  try { lockHome(process.argv[1], JSON.parse(process.argv[2])); console.log("taken"); }
  catch (error) { console.log(error.name + " " + error.pid); }`;

for (const command of [undefined, null]) {
  t.test(`one server per home (${command === null ? "without" : "with"} the flock command)`, async (t) => {
    const home = t.testdir();
    const options = command === null ? { command } : {};
    const other = () => {
      const args = ["--conditions=millrace-src", "--input-type=module", "-e", TAKE, home, JSON.stringify(options)];
      return spawnSync(process.execPath, args, { encoding: "utf8", cwd: process.cwd() }).stdout.trim();
    };
    const lock = lockHome(home, options);
    t.equal(readFileSync(join(home, "db.lock"), "utf8"), `${process.pid}\n`);
    t.equal(statSync(join(home, "db.lock")).mode & 0o777, 0o600);
    t.equal(other(), `HomeLockedError ${process.pid}`);
    if (command === undefined) {
      rmSync(join(home, "db.lock"));
      t.equal(other(), "HomeLockedError null", "also when the lock file was removed");
    }
    lock.release();
    t.equal(other(), "taken", "free once given up, and after the end of the process that held it");
    t.equal(other(), "taken");
  });
}

t.test("a missing flock command is not a held lock", async (t) => {
  const home = t.testdir();
  const lock = lockHome(home, { command: "/nonexistent/flock" });
  t.ok(existsSync(join(home, "db.lock.sqlite")));
  t.throws(() => lockHome(home, { command: null }), HomeLockedError);
  lock.release();
});

t.test("readers start with the first query, answer in bytes and keep the time limit", async (t) => {
  const path = join(t.testdir(), "db.sqlite");
  const store = openStore(path);
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "a");
  putRun(ops, RUN);
  store.writer.commit(request(store.writer, 1, { ops, logs: [1, 0, 1, 4, '[[null,20,"l",5,"hello"]]'] }));
  const pool = new ReadPool({ path, threads: 1 });
  t.teardown(() => pool.close());
  t.equal(pool.started, false);
  const part = await pool.run("run_logs", { id: 1, query: { limit: 10 } });
  t.match(JSON.parse(new TextDecoder().decode(part?.bytes)), { items: [{ id: 1, message: "hello" }], next_cursor: null });
  t.equal(await pool.run("run", { id: 2 }), null, "an unknown run");
  await t.rejects(pool.run("runs", { query: { sort: "created_desc", limit: 1 } }, 0), {
    name: "StorageError",
    fault: "query",
  });
  t.match(await pool.run("run", { id: 1 }), { bytes: Uint8Array, next: null }, "and goes on after it");
  store.database.close();
});

t.test("a store on a read-only file is refused", { skip: process.getuid?.() === 0 }, async (t) => {
  const path = join(t.testdir(), "db.sqlite");
  openWriteHandle(path, OPTIONS).close();
  chmodSync(path, 0o400);
  t.throws(() => openWriteHandle(path, OPTIONS), { name: "StorageError", fault: "io" });
});
