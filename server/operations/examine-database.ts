/** The doctor's checks of a store in PostgreSQL: its rows in one snapshot, and the server that keeps them. */
import { checkStepFiles } from "#storage/home/step-files";
import { checkStore, type StoreCheck } from "#storage/invariants/check-store";
import type { InvariantFacts } from "#storage/invariants/invariant";
import { storeName } from "#storage/postgres/location";
import { openPostgresReadHandle } from "#storage/postgres/read-handle";
import { checkServer, databaseContents, holderOfStore, serverVersion } from "#storage/postgres/server-check";
import { StorageError } from "#storage/sqlite/storage-error";
import { OperationalError } from "./operational-error.ts";
import { stepFileCheck } from "./step-file-check.ts";

/** For one statement: a check reads whole tables, of millions of rows. */
const STATEMENT_LIMIT_MS = 10 * 60_000;

/** Faults that leave open what the store is like. */
const PREVENTED = new Set(["busy", "foreign", "library", "query", "reader", "unreachable"]);

export interface ExaminedDatabase {
  url: string;
  /** Null: it is not on this machine, so that its files are not looked at. */
  home: string | null;
  /** Versions of the program. */
  title: string;
  totals: InvariantFacts["totals"];
  open: InvariantFacts["open"];
  nowUs(): number;
}

type Handle = ReturnType<typeof openPostgresReadHandle>;

/** @throws OperationalError when the database cannot be reached, refuses the role, or belongs to another program */
export function examineDatabase(examined: ExaminedDatabase): { holder: string | null; checks: StoreCheck[] } {
  const database = openPostgresReadHandle(examined.url, { limitMs: STATEMENT_LIMIT_MS, wholeTables: true });
  try {
    const server = serverVersion(database);
    const holder = holderOfStore(database);
    const checks = checkServer(database, examined.nowUs);
    return { holder, checks: [...storeChecks(database, examined, server, holder !== null), ...checks] };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new OperationalError(`the store ${storeName(examined.url)} was not examined: ${error.message}`);
  } finally {
    database.close();
  }
}

function storeChecks(database: Handle, examined: ExaminedDatabase, server: string, isServed: boolean): StoreCheck[] {
  const title = `${examined.title}, PostgreSQL ${server}`;
  const versions = (text: string | null, more = ""): StoreCheck => {
    const findings: StoreCheck["findings"] = text === null ? [] : [{ level: "unusual", text }];
    return { id: "versions", title: `${title}${more}`, checked: true, unchecked: null, findings };
  };
  try {
    const { version, known, isImporting } = databaseContents(database);
    if (version === 0) return [versions("there is no store yet: a server makes its tables at its first start")];
    const stored = `, store version ${version}`;
    if (isImporting)
      return [versions("an import into it is not finished: repeat `millrace import`; its rows were not checked", stored)];
    if (version < known)
      return [versions(`this Millrace has version ${known}: start a server on it once; its rows were not checked`, stored)];
    const { home, open } = examined;
    // Totals are those of a running server of the home, which may have another store.
    const rows = checkStore(database, { totals: isServed ? examined.totals : null, open });
    const files = home === null ? [] : [stepFileCheck(checkStepFiles(home, database))];
    return [versions(null, stored), ...rows, ...files];
  } catch (error) {
    if (!(error instanceof StorageError) || PREVENTED.has(error.fault)) throw error;
    const findings: StoreCheck["findings"] = [{ level: "broken", text: `the store cannot be read: ${error.message}` }];
    return [versions(null), { id: "rows", title: "the store can be read", checked: true, unchecked: null, findings }];
  }
}
