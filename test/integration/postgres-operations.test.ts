/** The operator's commands for a store in PostgreSQL: which store they mean, and which of them are the database's own work. */
import { chmodSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { examine } from "#server/operations/doctor";
import { SecretBox } from "#storage/home/secret-box";
import { INVARIANTS } from "#storage/invariants/check-store";
import { Connection } from "#storage/postgres/connection";
import { migratePostgres } from "#storage/postgres/migrate";
import { clockDifference } from "#storage/postgres/server-check";
import { closeWriteHandle, openWriteHandle } from "#storage/write/write-handle";
import { fillPostgres } from "../load/list-stores.ts";
import { type Ended, startCommand } from "../support/command-line.ts";
import { keyFile } from "../support/key-file.ts";
import { copyToPostgres } from "../support/postgres-copy.ts";
import { postgresPrograms, startPostgres, type TestDatabase, urlOf } from "../support/postgres-server.ts";
import { fillRandomly } from "../support/random-store.ts";
import { SECRET, soundStore } from "../support/sound-store.ts";
import { testFolder } from "../support/test-folder.ts";

const ROWS = 40;
/** Seconds that the doctor may take for 20,000 runs: ten times what it takes. */
const DOCTOR_SECS_MAX = 30;
const URL_OF_FILE = "postgres://millrace:secret@db.example.org:5432/orders";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

function withConfig(folder: string, url: string): string {
  writeFileSync(join(folder, "millrace.toml"), `[store]\nurl = "${url}"\n`);
  return folder;
}

function makeStore(home: string): void {
  const database = openWriteHandle(join(home, "db.sqlite"), { durability: "normal", salt: 5 });
  fillRandomly(database, 1, ROWS);
  closeWriteHandle(database);
}

t.test("a store in PostgreSQL is neither backed up nor restored by millrace, whatever names it", async (t) => {
  const folder = testFolder(t, { home: {}, plain: {}, project: {} });
  const [home, plain, project] = [join(folder, "home"), join(folder, "plain"), join(folder, "project")];
  for (const each of [home, plain]) makeStore(each);
  withConfig(home, URL_OF_FILE);
  withConfig(project, URL_OF_FILE);
  const file = join(folder, "made.sqlite");
  const run = (command: string, cwd: string, of: string, env: Record<string, string> = {}): Promise<Ended> =>
    startCommand([command, file, "--home", of], { cwd, env }).ended;

  const named = [
    ["MILLRACE_STORE", folder, plain, { MILLRACE_STORE: URL_OF_FILE }],
    [`[store] url in ${join(home, "millrace.toml")}`, folder, home, {}],
    [`[store] url in ${join(project, "millrace.toml")}`, project, plain, {}],
  ] as const;
  for (const [name, cwd, of, env] of named) {
    const before = readdirSync(of);
    const backup = await run("backup", cwd, of, env);
    t.equal(backup.code, 3);
    t.ok(backup.errors.startsWith(`millrace: the store is in PostgreSQL (${name}), and millrace backup is for`), backup.errors);
    const shown = "postgres://millrace@db.example.org:5432/orders";
    t.ok(backup.errors.includes(`\`pg_dump -Fc -f millrace.dump -d ${shown}\``), "the command, without the password");
    t.match(backup.errors, /`pg_basebackup`.*`millrace export FILE`/);
    const restore = await run("restore", cwd, of, env);
    t.equal(restore.code, 3);
    t.ok(restore.errors.includes(`(${name}), and millrace restore is for the file of a home`), restore.errors);
    t.ok(restore.errors.includes(`into an empty database, \`pg_restore --no-owner -d ${shown} millrace.dump\``));
    t.notMatch(backup.errors + restore.errors, /secret|\n {4}at /, "neither the password nor a stack");
    t.same(readdirSync(of), before, "the home is unchanged");
    t.notOk(existsSync(file));
  }

  await t.test("a home without such a setting is backed up", async (t) => {
    t.match(await run("backup", folder, plain), { code: 0, out: /40 runs, 40 events/ });
    t.match(await run("restore", folder, plain), { code: 0, out: /former store is kept/ });
  });
});

t.test("operations on a store in PostgreSQL", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["autovacuum = off"]);
  t.after(() => server.stop());
  const folder = testFolder(t, { home: {}, project: {}, back: {} });
  const [home, project, back] = [join(folder, "home"), join(folder, "project"), join(folder, "back")];
  makeStore(home);

  await t.test("export and import take `[store] url` of millrace.toml, both ways", async (t) => {
    const database = await server.database("from_file");
    const url = urlOf(database);
    const [first, second] = [join(folder, "first.export"), join(folder, "second.export")];
    const run = (args: string[], cwd: string, env: Record<string, string> = {}): Promise<Ended> =>
      startCommand(args, { cwd, env }).ended;
    t.match(await run(["export", first, "--home", home], folder), { code: 0, out: /40 runs, .*db\.sqlite\./ });
    withConfig(project, url);
    t.match(await run(["import", first, "--home", back], project), { code: 0, out: /from_file\?.* holds 40 runs/ });
    t.notOk(existsSync(join(back, "db.sqlite")), "--home alone does not hide the file");
    withConfig(home, url);
    t.match(await run(["export", second, "--home", home], folder), { code: 0, out: /40 runs, .*\/from_file\?/ });
    const other = await server.database("from_variable");
    const env = { MILLRACE_STORE: urlOf(other) };
    t.match(await run(["import", second, "--home", home], project, env), { code: 0, out: /\/from_variable\?.* holds 40 runs/ });
    const third = await server.database("from_flag");
    t.match(await run(["import", second, "--store", urlOf(third)], project, env), {
      code: 0,
      out: /\/from_flag\?.* holds 40 runs/,
    });
    t.match(await run(["import", second, "--home", back], folder), { code: 0, out: /back\/db\.sqlite holds 40 runs/ });
  });

  const doctored = testFolder(t, { home: {}, project: {} });
  const [keeper, served] = [join(doctored, "home"), join(doctored, "project")];
  chmodSync(keeper, 0o700);
  const box = new SecretBox(keyFile(join(keeper, "secret.key")));
  const AUTOVACUUM = /autovacuum is off: tables grow/;

  async function filled(name: string): Promise<{ place: TestDatabase; connection: Connection }> {
    const place = await server.database(name);
    const connection = await Connection.open(place);
    await migratePostgres(connection);
    const { database } = soundStore(box);
    await copyToPostgres(database, connection);
    return { place, connection };
  }

  const doctor = (url: string, ...args: string[]): Promise<Ended> =>
    startCommand(["doctor", "--home", keeper, "--store", url, ...args]).ended;

  await t.test("the doctor finds nothing broken in a sound store, named by millrace.toml", async (t) => {
    const { place, connection } = await filled("sound");
    withConfig(served, urlOf(place));
    const { code, out, errors } = await startCommand(["doctor", "--home", keeper, "--json"], { cwd: served }).ended;
    t.equal(code, 0, errors);
    const report = JSON.parse(out) as { sound: boolean; store: string; checks: { id: string; findings: { text: string }[] }[] };
    t.match(report, { sound: true, running: false, store: /^postgres:.*\/sound\?/ });
    t.match(
      report.checks.flatMap(({ findings }) => findings),
      [{ level: "unusual", text: AUTOVACUUM }],
    );
    const ids = new Set(report.checks.map(({ id }) => id));
    for (const id of [...INVARIANTS.map((each) => each.id), "server", "rights", "db-clock", "vacuum", "standbys", "step-files"])
      t.ok(ids.has(id), id);
    t.match(await doctor(urlOf(place)), { code: 0, out: /PostgreSQL \d+.* keeps what it acknowledges; data checksums are off/ });
    await connection.run(
      `INSERT INTO quarantine (actor, subject, error, created_at) SELECT 'a', 's', 'e', 1 FROM generate_series(1, 150000);
       DELETE FROM quarantine`,
    );
    await connection.close();
    t.match(await doctor(urlOf(place)), { code: 0, out: /quarantine has 150000 dead rows beside 0: look for a transaction/ });
  });

  await t.test("the doctor finds a row that was changed by hand, and names who has the store", async (t) => {
    const { place, connection } = await filled("damaged");
    await connection.run(`UPDATE events SET payload = '{"url":"https://x/${SECRET}"}' WHERE id = 1`);
    const held = await startCommand(["doctor", "--home", keeper, "--store", urlOf(place)]).ended;
    t.match(held, {
      code: 1,
      out: /no server runs[\s\S]*I12[\s\S]*the value of password stands in clear in 1 rows of events\.payload/,
    });
    await connection.run(
      "SET application_name = 'millrace a:1'; SELECT pg_advisory_lock(1296649324, hashtext(current_schema()))",
    );
    t.match(await doctor(urlOf(place)), { code: 1, out: /home: millrace a:1, connected since .* has the store/ });
    await connection.close();
  });

  await t.test("the doctor finds what a role may not do", async (t) => {
    const { place, connection } = await filled("rights");
    await connection.run("CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    const reader = urlOf({ ...place, user: "reader" });
    t.match(await doctor(reader), {
      code: 1,
      out: /INSERT, UPDATE, DELETE on \w+ is not granted to reader[\s\S]*GRANT pg_read_all_stats TO reader/,
    });
    await connection.run("REVOKE SELECT ON runs, live_runs FROM reader");
    t.match(await doctor(reader), { code: 1, out: /the store cannot be read: PostgreSQL: permission denied/ });
    await connection.close();
  });

  await t.test("the doctor says why a database cannot be examined", async (t) => {
    const place = await server.database("foreign_tables");
    t.match(await doctor(urlOf(place)), { code: 0, out: /there is no store yet: a server makes its tables/ });
    const connection = await Connection.open(place);
    await connection.run("CREATE TABLE orders (id int)");
    await connection.close();
    t.match(await doctor(urlOf(place)), { code: 3, errors: /was not examined: .* tables of another program \(orders\)/ });
    t.match(await doctor(urlOf({ ...place, database: "none" })), { code: 3, errors: /has no database none/ });
    const away = await doctor("postgres://u:secret@127.0.0.1:1/none");
    t.match(away, { code: 3, errors: /postgres:\/\/u@127\.0\.0\.1:1\/none was not examined: PostgreSQL does not answer/ });
    t.notMatch(away.errors, /secret|\n {4}at /);
  });

  await t.test("the doctor checks a store that has grown within seconds", async (t) => {
    const place = await server.database("grown");
    await fillPostgres(place, 20_000);
    const began = performance.now();
    const database = { url: urlOf(place), namedBy: "--store" };
    const { checks } = examine({ home: keeper, database, version: "test", totals: null, clock: null });
    const seconds = (performance.now() - began) / 1_000;
    t.ok(seconds < DOCTOR_SECS_MAX, `${seconds.toFixed(1)} s`);
    for (const { id } of INVARIANTS)
      t.ok(
        checks.some((each) => each.id === id),
        id,
      );
  });

  await t.test("the doctor finds settings with which PostgreSQL loses what it has acknowledged", async (t) => {
    const { place, connection } = await filled("unsafe");
    await connection.run("ALTER DATABASE unsafe SET synchronous_commit = off");
    await connection.run("ALTER SYSTEM SET fsync = off");
    await connection.run("ALTER SYSTEM SET full_page_writes = off");
    await connection.run("SELECT pg_reload_conf()");
    // A new session has the settings that the server has read.
    for (let setting = "on"; setting !== "off"; ) {
      const session = await Connection.open(place);
      [[setting] = ["on"]] = await session.rows<[string]>("SELECT current_setting('full_page_writes')");
      await session.close();
    }
    await connection.close();
    const { code, out } = await doctor(urlOf(place));
    t.equal(code, 1);
    for (const text of [/- fsync is off: /, /- full_page_writes is off: /, /- synchronous_commit is off: /]) t.match(out, text);
  });
});

t.test("clocks of the database and of the machine", async (t) => {
  const second = 1_000_000;
  t.same(clockDifference(100 * second, 99 * second, 101 * second), []);
  t.same(clockDifference(100 * second, 103 * second, 104 * second), []);
  t.match(clockDifference(100 * second, 110 * second, 111 * second), [/is 10 s behind that of this machine/]);
  t.match(clockDifference(100 * second, 80 * second, 81 * second), [/is 19 s ahead of that of this machine/]);
});
