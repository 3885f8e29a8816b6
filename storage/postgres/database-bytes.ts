/** How large a database of PostgreSQL is. */
import type { Database } from "../sqlite/driver.ts";

/** The size of the database that a handle reads, in bytes. */
export function databaseBytes(database: Database): number {
  return database.prepareRaw<[number]>("SELECT pg_database_size(current_database())").get()?.[0] ?? 0;
}
