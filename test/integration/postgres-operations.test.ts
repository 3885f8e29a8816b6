/** The operator's commands for a store in PostgreSQL: which store they mean, and which of them are the database's own work. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { closeWriteHandle, openWriteHandle } from "#storage/write/write-handle";
import { type Ended, startCommand } from "../support/command-line.ts";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { fillRandomly } from "../support/random-store.ts";

const ROWS = 40;
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
  const folder = t.testdir({ home: {}, plain: {}, project: {} });
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
  const server = await startPostgres(programs ?? "no programs of PostgreSQL");
  t.after(() => server.stop());
  const folder = t.testdir({ home: {}, project: {}, back: {} });
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
});
