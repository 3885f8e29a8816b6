/** A server in PostgreSQL keeps what it was told in its store: another home, as on another machine, continues with it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { ServedHome, type ServedProcess } from "../support/served-home.ts";

const programs = postgresPrograms();
const skip = programs === null && process.env["MILLRACE_TEST_POSTGRES"] !== "required" ? "PostgreSQL is not installed" : false;

const shown = async (server: ServedProcess) => {
  const { body } = await server.call("GET", "/api/settings");
  const { retain_days, crash_retries_default, resources, changed_settings } = body;
  return { retain_days, crash_retries_default, resources, changed_settings };
};

t.test("settings changed at run time hold on another machine", { skip }, async (t) => {
  const postgres = await startPostgres(programs ?? "");
  t.teardown(() => postgres.stop());
  const store = urlOf(await postgres.database("settings"));
  const [first, second] = [new ServedHome(), new ServedHome()];
  t.teardown(() => Promise.all([first.remove(), second.remove()]));
  // Marks the folder as a home.
  writeFileSync(join(second.path, "db.lock"), "", { mode: 0o600 });
  writeFileSync(join(second.path, "millrace.toml"), "[defaults]\nretain_days = 90\n[resources]\ngpu = 4\ndesk = 3\n");

  const before = await first.serve("--store", store);
  t.match(await shown(before), { retain_days: 30, changed_settings: [] });
  const patch = { retain_days: 7, crash_retries: 1, resources: { gpu: 2 } };
  const patched = await before.call("PATCH", "/api/settings", patch);
  const changed_settings = ["crash_retries", "resources.gpu", "retain_days"];
  t.match(patched, { status: 200, body: { retain_days: 7, changed_settings } });
  t.notOk(existsSync(join(first.path, "millrace.toml")), "no file is written");
  await before.kill("SIGTERM");

  const after = await second.serve("--store", store);
  t.same(await shown(after), {
    retain_days: 7,
    crash_retries_default: 1,
    resources: { gpu: { total: 2, used: 0 }, desk: { total: 3, used: 0 } },
    changed_settings,
  });
  const log = readFileSync(join(second.path, "server.log"), "utf8");
  t.match(log, /retain_days is 7: it was changed at run time, and the configured value is not used: 90/);
  t.match(log, /resources\.gpu is 2: .* not used: 4/);
});
