/** This repository's server with its store in a PostgreSQL server that is started for it and flushes each commit. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { LoadFailed } from "./load-failed.ts";
import type { LoadOptions } from "./options.ts";
import { programOf, ROOT, startOwnServer } from "./own-server.ts";
import { seedStore } from "./seed-store.ts";
import type { Target } from "./target.ts";

export async function startOnPostgres(options: LoadOptions): Promise<Target> {
  const { durability, token, compiled } = options;
  const programs = postgresPrograms();
  if (programs === null) throw new LoadFailed("PostgreSQL is not installed: apt-get install postgresql");
  const postgres = await startPostgres(programs);
  try {
    const store = urlOf(await postgres.database("load"));
    if (options.storeRuns > 0) await fill(store, options);
    const target = await startOwnServer({ home: null, durability, token, compiled, store });
    return {
      ...target,
      name: "postgres",
      durability: "full",
      storePid: postgres.pid,
      stop: async () => {
        await target.stop();
        postgres.stop();
      },
    };
  } catch (error) {
    postgres.stop();
    throw error;
  }
}

/** Moves the ended runs that the compared store in SQLite has into the database, as a user would. */
async function fill(store: string, { storeRuns, seed, compiled }: LoadOptions): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "millrace-load-"));
  const home = join(scratch, "home");
  const file = join(scratch, "export");
  try {
    seedStore(home, storeRuns, seed);
    await run(compiled, "export", file, "--home", home);
    rmSync(home, { recursive: true });
    await run(compiled, "import", file, "--store", store);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function run(compiled: boolean, command: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [...programOf(ROOT, compiled), command, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (text: Buffer) => {
    errors += text.toString();
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new LoadFailed(`millrace ${command} ended with code ${code}: ${errors}`);
}
