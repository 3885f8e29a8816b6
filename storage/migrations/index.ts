/** Migrations in order: the version of a database is the number of migrations it has seen. */
import * as initial from "./0001-initial.ts";

export interface Migration {
  name: string;
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [initial];
