/**
 * Ends PostgreSQL, and then the server, repeatedly and at once while clients create runs: acknowledged data must exist afterwards,
 * and answers return without help. Then the primary fails, and its synchronous standby takes over.
 */
import { mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { type PostgresServer, postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { acknowledged, crashUnderLoad, LIFE_MS } from "../support/served-store.ts";

const { MILLRACE_TEST_CRASHES: asked, MILLRACE_TEST_FAILOVERS: failovers, MILLRACE_TEST_POSTGRES: required } = process.env;
/** How often each of the two is ended. */
const CRASHES = Number(asked ?? 3);
const FAILOVERS = Number(failovers ?? 1);

const programs = postgresPrograms();
const skip = programs === null && required !== "required" ? "PostgreSQL is not installed" : false;

t.test("a server on PostgreSQL", { skip }, async (t) => {
  const postgres: PostgresServer = await startPostgres(programs ?? "no programs of PostgreSQL");
  t.teardown(() => postgres.stop());

  await t.test("crashes of PostgreSQL lose and double nothing, and the server goes on by itself", async (t) => {
    const store = urlOf(await postgres.database("crashes"));
    await crashUnderLoad(t, store, CRASHES, async (served) => {
      postgres.crash();
      await sleep(LIFE_MS / 2);
      t.ok(served.running, "the server lives without its store");
      postgres.start();
      return await acknowledged(served, 1);
    });
  });

  await t.test("kill -9 of the server loses and doubles nothing", async (t) => {
    const store = urlOf(await postgres.database("kills"));
    await crashUnderLoad(t, store, CRASHES, async (served) => {
      await served.restart();
      return await acknowledged(served, 1);
    });
  });
});

/** Lets the primary acknowledge only what a new standby has flushed. The standby does not take over this setting: it has no standby. */
async function replicate(primary: PostgresServer): Promise<PostgresServer> {
  const standby = primary.standby();
  await primary.rows("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.rows("SELECT pg_reload_conf()");
  const inSync = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND flush_lsn >= pg_current_wal_flush_lsn()";
  while ((await primary.rows(inSync)).length === 0) await sleep(20);
  return standby;
}

t.test(
  "a fail-over to the synchronous standby loses and doubles nothing, and the server follows the address",
  { skip },
  async (t) => {
    let primary = await startPostgres(programs ?? "no programs of PostgreSQL");
    const database = await primary.database("failover");
    // The address of the store: a link to the folder with the socket of the primary.
    const folder = mkdtempSync(join(tmpdir(), "millrace-address-"));
    const address = join(folder, "primary");
    symlinkSync(primary.folder, address);
    t.teardown(() => {
      primary.stop();
      rmSync(folder, { recursive: true });
    });

    await crashUnderLoad(t, urlOf({ ...database, host: address }), FAILOVERS, async (served) => {
      const standby = await replicate(primary);
      await acknowledged(served, 20);
      primary.crash();
      await sleep(LIFE_MS / 2);
      t.ok(served.running, "the server lives without its store");
      standby.promote();
      symlinkSync(standby.folder, join(folder, "next"));
      renameSync(join(folder, "next"), address);
      primary.remove();
      primary = standby;
      return await acknowledged(served, 1);
    });
  },
);
