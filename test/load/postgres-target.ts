/** This repository's server with its store in a PostgreSQL server that is started for it and flushes each commit. */

import { postgresPrograms, startPostgres, urlOf } from "../support/postgres-server.ts";
import { LoadFailed } from "./load-failed.ts";
import type { LoadOptions } from "./options.ts";
import { startOwnServer } from "./own-server.ts";
import type { Target } from "./target.ts";

export async function startOnPostgres({ durability, token, compiled }: LoadOptions): Promise<Target> {
  const programs = postgresPrograms();
  if (programs === null) throw new LoadFailed("PostgreSQL is not installed: apt-get install postgresql");
  const postgres = await startPostgres(programs);
  try {
    const store = urlOf(await postgres.database("load"));
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
