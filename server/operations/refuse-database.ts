/** Copies of whole stores are made by us for files of a home, and by the database's own tools for a database. */
import { quoteForShell } from "#protocol/values/shell-word";
import { storeName } from "#storage/postgres/location";
import type { StorePlace } from "../config/config.ts";
import { OperationalError } from "./operational-error.ts";

/** What to do instead, by command; `to` is the database as a word for the shell. */
const INSTEAD = {
  backup: (to: string) =>
    `it is backed up by the database's own tools: \`pg_dump -Fc -f millrace.dump -d ${to}\` for one state of it, or ` +
    "`pg_basebackup` with archived WAL for every moment; `millrace export FILE` makes a copy as rows while no server runs",
  restore: (to: string) =>
    "a dump of it is restored by the database's own tools: stop the server and load the dump into an empty database, " +
    `\`pg_restore --no-owner -d ${to} millrace.dump\`; \`millrace import FILE\` loads a file of \`millrace export\``,
} as const;

/** @throws OperationalError when the store is in a database */
export function refuseDatabase(command: keyof typeof INSTEAD, { home, database }: StorePlace): void {
  if (database === null) return;
  const { url, namedBy } = database;
  const instead = INSTEAD[command](quoteForShell(storeName(url)));
  throw new OperationalError(
    `the store is in PostgreSQL (${namedBy}), and millrace ${command} is for the file of a home: ${instead}. ` +
      `To ${command === "backup" ? "back up" : "replace"} the file in ${home} all the same, take ${namedBy} away first`,
  );
}
