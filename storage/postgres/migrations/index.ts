/** Migrations in order: the version of a store is the number of migrations applied to it. */
import * as initial from "./0001-initial.ts";
import * as functions from "./0002-functions.ts";
import * as boundedKeys from "./0003-bounded-keys.ts";
import * as idLists from "./0004-id-lists.ts";

export const POSTGRES_MIGRATIONS: readonly { name: string; sql: string }[] = [initial, functions, boundedKeys, idLists];
