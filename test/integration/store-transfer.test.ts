/** A store moves between SQLite and PostgreSQL by a file, and arrives as it was. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import t from "tap";
import { exportStore, importStore } from "#server/operations/transfer";
import { lockHome } from "#storage/home/lock";
import { Connection } from "#storage/postgres/connection";
import { openPostgresStore } from "#storage/postgres/store";
import { openReadHandle } from "#storage/read/read-handle";
import { importFile } from "#storage/transfer/import-file";
import { openPostgresImport } from "#storage/transfer/postgres-tables";
import { openSqliteExport, openSqliteImport } from "#storage/transfer/sqlite-tables";
import type { ImportedTables, StoredTables } from "#storage/transfer/stored-tables";
import { MOVED_TABLES, UNMOVED_TABLES } from "#storage/transfer/tables";
import { closeWriteHandle, openWriteHandle } from "#storage/write/write-handle";
import { millrace, startCommand } from "../support/command-line.ts";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { fillRandomly } from "../support/random-store.ts";
import { dumpPostgres, dumpSqlite, type StoreDump } from "../support/store-dump.ts";
import { testFolder } from "../support/test-folder.ts";

/** More than a page in each table. */
const ROWS = 300;
const silent = () => undefined;
const programs = postgresPrograms();
const skip = programs === null && process.env["MILLRACE_TEST_POSTGRES"] !== "required" ? "PostgreSQL is not installed" : false;

function makeHome(home: string, seed: number): StoreDump {
  const database = openWriteHandle(join(home, "db.sqlite"), { durability: "normal", salt: 5 });
  fillRandomly(database, seed, ROWS);
  const dump = withSettings(database);
  closeWriteHandle(database);
  return dump;
}

function withSettings(database: ReturnType<typeof openReadHandle>): StoreDump {
  const settings = database.prepareRaw<string[]>("SELECT name, value FROM settings ORDER BY name").all();
  return { ...dumpSqlite(database), settings: settings.map((row) => row.join("=")) };
}

function dumpOf(home: string): StoreDump {
  const database = openReadHandle(join(home, "db.sqlite"));
  try {
    return withSettings(database);
  } finally {
    database.close();
  }
}

/** The file with its text changed. */
function changed(file: string, to: string, change: (text: string) => string): string {
  writeFileSync(to, gzipSync(change(gunzipSync(readFileSync(file)).toString("utf8"))));
  return to;
}

/** The import ends before the portion of this number, as when the process is killed. */
async function interrupted(file: string, target: ImportedTables, portions: number): Promise<void> {
  let left = portions;
  const insert: ImportedTables["insert"] = (...args) => {
    left -= 1;
    return left < 0 ? Promise.reject(new Error("interrupted")) : target.insert(...args);
  };
  const { kind, place } = target;
  const shared: Pick<ImportedTables, "columns" | "pages" | "begin" | "fitted" | "finish" | "close"> = {
    columns: (table) => target.columns(table),
    pages: (table, columns) => target.pages(table, columns),
    begin: (id) => target.begin(id),
    fitted: (row) => target.fitted(row),
    finish: (owner) => target.finish(owner),
    close: () => target.close(),
  };
  const work = importFile(file, { kind, place, ...shared, insert }, silent);
  await work.then(
    () => Promise.reject(new Error("the import should have been interrupted")),
    (error: Error) => (error.message === "interrupted" ? undefined : Promise.reject(error)),
  );
  await target.close();
}

t.test("files and homes", async (t) => {
  const home = testFolder(t, { home: {}, other: {}, third: { "db.lock": "" } });
  const [from, to, third] = [join(home, "home"), join(home, "other"), join(home, "third")];
  const file = join(home, "store.export");
  const dump = makeHome(from, 1);

  await t.test("a store comes back from its file, with a new epoch", async (t) => {
    const made = await exportStore(from, file, false, silent);
    t.equal(made.rows["runs"], ROWS);
    t.equal(statSync(file).mode & 0o777, 0o600);
    await t.rejects(exportStore(from, file, false, silent), { message: /exists: name another file, or pass --overwrite/ });
    const done = await importStore(to, file, silent);
    t.match(done, { rows: made.rows, resumed: 0, changed: 0 });
    t.strictSame(dumpOf(to), dump);
    const database = openReadHandle(join(to, "db.sqlite"));
    t.strictSame(database.prepareRaw("SELECT * FROM members").all(), [[1, 8, 99, "[3,4,5]", "[]"]]);
    database.close();
    await t.rejects(importStore(to, file, silent), { message: /has runs: import into a home without a store/ });
  });

  await t.test("an interrupted import goes on where it ended", async (t) => {
    const path = join(third, "db.sqlite");
    await interrupted(file, openSqliteImport(path, "unused"), 20);
    t.notOk(existsSync(path), "there is no store before the import is complete");
    const done = await importStore(third, file, silent);
    t.ok(done.resumed > ROWS, `${done.resumed} rows were stored before`);
    t.strictSame(dumpOf(third), dump);
    t.same(
      readdirSync(third).filter((name) => name.includes("importing")),
      [],
    );
  });

  await t.test("a damaged or newer file is refused before anything changes", async (t) => {
    const target = join(home, "untouched");
    const bad = join(home, "bad.export");
    const refused = async (text: RegExp) => {
      await t.rejects(importStore(target, bad, silent), { name: "TransferError", message: text });
      t.notOk(existsSync(join(target, "db.sqlite")));
    };
    changed(file, bad, (text) => text.replace(/\n\[42,/, "\n[43,"));
    await refused(/is damaged at line \d+, row \d+ of the table names: the rows of the table differ from their checksum/);
    changed(file, bad, (text) => text.replace(/\n\[17,"/, '\n[17"'));
    await refused(/is damaged at line \d+, row 17 of the table names: /);
    changed(file, bad, (text) => text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1));
    await refused(/is damaged at line \d+, row 301 of the table parks: the file ends early/);
    writeFileSync(bad, readFileSync(file).subarray(0, 5_000));
    await refused(/is damaged at line \d+, row \d+ of the table \w+: unexpected end of file/);
    changed(file, bad, (text) => text.replace('"version":1', '"version":2'));
    await refused(/was written by a newer Millrace: .*format 2, known 1/);
    changed(file, bad, (text) => text.replace(/"schema":\d+/, '"schema":999'));
    await refused(/was written by a newer Millrace: .*schema 999/);
    changed(file, bad, (text) => text.replace('"name":"parks"', '"name":"trees"'));
    await refused(/was written by a newer Millrace: .*unknown table trees/);
    changed(file, bad, () => "{}\n");
    await refused(/is not a file of millrace export/);
    writeFileSync(bad, "text");
    await refused(/is damaged at line 1: incorrect header check/);
  });

  await t.test("while a server holds the home, nothing is moved", async (t) => {
    const lock = lockHome(from);
    await t.rejects(exportStore(from, join(home, "more"), false, silent), { name: "HomeLockedError" });
    await t.rejects(importStore(from, file, silent), { name: "HomeLockedError" });
    lock.release();
  });

  await t.test("the commands say what they did", async (t) => {
    const target = join(home, "by-command");
    const more = join(home, "more.export");
    t.match(await millrace("export", more, "--home", from), { code: 0, out: /300 runs, 300 events, [\d,]+ KiB, from / });
    t.match(await millrace("import", more, "--home", target), { code: 0, out: /holds 300 runs, 300 events, each row compared/ });
    t.match(await millrace("import", more, "--home", target), { code: 3, errors: /^millrace: .* has runs: / });
    t.match(await millrace("import", join(home, "none"), "--home", target), { code: 3, errors: /there is no file/ });
    const both = await millrace("export", more, "--home", from, "--store", "postgres://h/d");
    t.match(both, { code: 3, errors: /--store and --home name two stores/ });
    t.strictSame(dumpOf(target), dump);
  });
});

t.test("between SQLite and PostgreSQL", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const folder = testFolder(t, { home: {}, back: {} });
  const [from, back] = [join(folder, "home"), join(folder, "back")];
  const [first, second] = [join(folder, "first.export"), join(folder, "second.export")];
  const dump = makeHome(from, 2);
  await exportStore(from, first, false, silent);
  const { settings, ...rows } = dump;

  await t.test("every table of both schemas is moved, with the same columns, or listed as not moved", async (t) => {
    const database = await server.database("tables");
    const postgres = await openPostgresImport(urlOf(database));
    const sqlite = openSqliteExport(join(from, "db.sqlite"));
    const connection = await Connection.open(database);
    const splitTables = MOVED_TABLES.flatMap(({ split }) => split?.tables ?? []);
    const moved = MOVED_TABLES.filter(({ split }) => split === undefined).map(({ name }) => name);
    const tables = await connection.rows<[string]>("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    const listed = (names: readonly string[]) => [...names].sort();
    t.same(
      listed(tables.map(([name]) => name)),
      listed([...moved, ...splitTables, ...UNMOVED_TABLES.filter((name) => name !== "counters")]),
    );
    const reader = openReadHandle(join(from, "db.sqlite"));
    const own = reader
      .prepareRaw<[string]>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all();
    t.same(listed(own.map(([name]) => name)), listed([...MOVED_TABLES.map(({ name }) => name), ...UNMOVED_TABLES]));
    const sorted = async (store: Pick<StoredTables, "columns">, name: (typeof MOVED_TABLES)[number]) =>
      (await store.columns(name)).map((column) => `${column.name} ${column.kind}`).sort();
    for (const table of MOVED_TABLES) t.strictSame(await sorted(postgres, table), await sorted(sqlite, table), table.name);
    reader.close();
    await connection.close();
    await sqlite.close();
    await postgres.close();
  });

  await t.test("there and back", async (t) => {
    const database = await server.database("there");
    const url = urlOf(database);
    await importStore(url, first, silent);
    const connection = await Connection.open(database);
    t.strictSame(await dumpPostgres(connection), rows);
    t.strictSame(await connection.rows("SELECT epoch, number, result, commands FROM members"), [[8, 99, "[3,4,5]", "[]"]]);
    t.strictSame(await connection.rows("SELECT count(*) FROM live_runs WHERE end_time IS NOT NULL"), [[0]]);
    t.strictSame(await connection.rows("SELECT count(*) FROM ended_runs WHERE end_time IS NULL"), [[0]]);
    const kinds = "SELECT count(*) FROM events WHERE (resource IS NULL) <> (resource_kind IS NULL)";
    t.strictSame(await connection.rows(kinds), [[0]]);
    const [[next] = [0]] = await connection.rows<[number]>(
      "INSERT INTO quarantine (actor, subject, error, created_at) VALUES ('a', 's', 'e', 1) RETURNING id",
    );
    t.equal(next, ROWS + 1, "ids go on");
    await connection.run(`DELETE FROM quarantine WHERE id = ${next}`);
    await connection.close();
    await exportStore(url, second, false, silent);
    await importStore(back, second, silent);
    t.strictSame(dumpOf(back), dump);
    await t.rejects(importStore(url, first, silent), { message: /has runs: import into an empty database/ });
  });

  await t.test("an interrupted import goes on; no server takes the store before", async (t) => {
    const database = await server.database("halves");
    const url = urlOf(database);
    await interrupted(first, await openPostgresImport(url), 20);
    const options = { stream: "new_block", nowUs: () => 1 } as const;
    await t.rejects(openPostgresStore(url, options), { message: /an import into it is not finished/ });
    await t.rejects(exportStore(url, join(folder, "none"), false, silent), { message: /an import into it is not finished/ });
    t.ok((await importStore(url, first, silent)).resumed > ROWS);
    const connection = await Connection.open(database);
    t.strictSame(await dumpPostgres(connection), rows);
    const stored = await connection.rows<string[]>("SELECT name, value FROM settings ORDER BY name");
    t.strictSame(
      stored.map((row) => row.join("=")),
      settings,
    );
    await connection.close();
  });

  await t.test("another file begins from the start; highest ids of the store before are kept", async (t) => {
    const database = await server.database("again");
    const url = urlOf(database);
    const store = await openPostgresStore(url, { stream: "continue", nowUs: () => 1, salt: 1 });
    await store.close(false);
    const connection = await Connection.open(database);
    await connection.run("UPDATE members SET epoch = 40, counters = array_fill(1000::bigint, ARRAY[15])");
    await interrupted(second, await openPostgresImport(url), 5);
    t.equal((await importStore(url, first, silent)).resumed, 0);
    const [[epoch, counters] = [0, []]] = await connection.rows<[number, number[]]>(
      "SELECT epoch, array_to_json(counters) FROM members",
    );
    t.equal(epoch, 41);
    t.ok(counters.every((value) => value === 1_000));
    t.strictSame(await connection.rows("SELECT value FROM settings WHERE name = 'event_gaps'"), [["[[304,1000]]"]]);
    await connection.close();
  });

  await t.test("NUL characters become U+FFFD, and are counted", async (t) => {
    const home = join(folder, "nul");
    const file = join(folder, "nul.export");
    await importStore(home, first, silent);
    const writer = openWriteHandle(join(home, "db.sqlite"), { durability: "normal" });
    writer.prepareRaw("UPDATE flows SET description = ? WHERE id = 3").run("a\0b");
    closeWriteHandle(writer);
    await exportStore(home, file, false, silent);
    const database = await server.database("nul");
    t.match(await importStore(urlOf(database), file, silent), { changed: 1 });
    const connection = await Connection.open(database);
    t.strictSame(await connection.rows("SELECT description FROM flows WHERE id = 3"), [["a\uFFFDb"]]);
    await connection.close();
  });

  await t.test("while a server has the store, nothing is moved", async (t) => {
    const database = await server.database("held");
    const url = urlOf(database);
    const store = await openPostgresStore(url, { stream: "continue", nowUs: () => 1 });
    const held = { name: "TransferError", message: /another Millrace has the store: millrace .*; stop it first/ };
    await t.rejects(exportStore(url, join(folder, "none"), false, silent), held);
    await t.rejects(importStore(url, first, silent), held);
    await store.close(false);
  });

  await t.test("the commands take a URL, by the environment too", async (t) => {
    const database = await server.database("commands");
    const url = urlOf(database);
    t.match(await millrace("import", first, "--store", url), { code: 0, out: /\/commands\?.* holds 300 runs, 300 events/ });
    t.match(await startCommand(["export", join(folder, "third.export"), "--json"], { env: { MILLRACE_STORE: url } }).ended, {
      code: 0,
      out: /"runs": ?300/,
    });
    t.match(await millrace("export", join(folder, "fourth"), "--store", "postgres://nobody@127.0.0.1:1/none"), {
      code: 3,
      errors: /PostgreSQL does not answer at 127\.0\.0\.1:1/,
    });
  });
});
