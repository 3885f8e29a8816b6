/**
 * The session of a writer: a connection that holds the lock of the store, so that a server that starts does not take the store from
 * one that lives. PostgreSQL releases the lock when the session has ended, with its transaction: whoever has the lock reads what
 * the sessions before have stored.
 */
import { hostname } from "node:os";
import { StorageError } from "../sqlite/storage-error.ts";
import { WRITER_SETTINGS } from "./commit-messages.ts";
import { Connection } from "./connection.ts";
import { isLocked } from "./errors.ts";

/** The lock of a store: this number, and the schema of its tables. */
const LOCK = "1296649324, hashtext(current_schema())";
/** How long a session that is ending may keep the lock. */
const LOCK_WAIT_MS = 2_000;
/** The oldest PostgreSQL that has what the store needs, as the server numbers itself. */
export const SERVER_VERSION_MIN = 140_000;
/**
 * Connections of an idle server with its first lists, a short and a long one, of a server under load, and with some for other
 * programs (the guide's table).
 */
const CONNECTIONS_MIN = 5;
const CONNECTIONS = 14;
const CONNECTIONS_ADVISED = 20;
/** PostgreSQL cuts longer names. */
const NAME_LENGTH_MAX = 63;

/**
 * The database decides how safe a commit is (`synchronous_commit`). No limit of the role or the database ends a session between two
 * commits.
 */
const SETTINGS = `${WRITER_SETTINGS};
    SET default_transaction_isolation = 'read committed'; SET statement_timeout = 0; SET idle_session_timeout = 0;
    SET idle_in_transaction_session_timeout = 0; SET lock_timeout = 0; SET client_min_messages = warning;
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3`;

/** The session that has the lock of the store. */
export const HOLDER_QUERY = `SELECT application_name, to_char(backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), client_addr::text
  FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted AND classid = 1296649324
    AND objid = hashtext(current_schema())::oid AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** A session as the server knows it; a number of a process alone may be given again. */
export interface Backend {
  pid: number;
  started: string;
}

export interface Session {
  connection: Connection;
  backend: Backend;
  /** Who has the store, if not this session. */
  holder: string | null;
}

/** @param former a session of this process whose connection was lost, and which the server may still have */
export async function openSession(url: string, former: Backend | null): Promise<Session> {
  const name = `millrace ${hostname()}:${process.pid}`.slice(0, NAME_LENGTH_MAX);
  const connection = await Connection.open({ connectionString: url }, name);
  try {
    await checkServer(connection);
    await connection.run(SETTINGS);
    if (former !== null) await endFormer(connection, former);
    const holder = (await takeLock(connection)) ? null : await holderOf(connection);
    return { connection, backend: await backendOf(connection), holder };
  } catch (cause) {
    connection.drop();
    throw cause;
  }
}

async function checkServer(connection: Connection): Promise<void> {
  const [[version, text, encoding] = [0, "", ""]] = await connection.rows<[number, string, string]>(
    "SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_setting('server_encoding')",
  );
  if (version < SERVER_VERSION_MIN) throw new StorageError("library", tooOld(text));
  const { database } = connection.place;
  if (encoding !== "UTF8")
    throw new StorageError("library", `the database ${database} has the encoding ${encoding}: create one WITH ENCODING 'UTF8'`);
}

/** @throws StorageError when the role or the database allows fewer connections than a server needs */
export async function checkConnectionLimits(connection: Connection): Promise<void> {
  const [[role, database] = [null, null]] = await connection.rows<[number | null, number | null]>(
    `SELECT nullif(rolconnlimit, -1)::int8, nullif(datconnlimit, -1)::int8 FROM pg_roles, pg_database
      WHERE rolname = current_user AND NOT rolsuper AND datname = current_database()`,
  );
  const { place } = connection;
  for (const [limit, whose, change] of [
    [role, `the role ${place.user}`, `ALTER ROLE ${place.user}`],
    [database, `the database ${place.database}`, `ALTER DATABASE ${place.database}`],
  ] as const) {
    if (limit === null || limit >= CONNECTIONS_MIN) continue;
    const lack = `${whose} allows ${limit} connections, and a server needs ${CONNECTIONS_MIN} at least and ${CONNECTIONS} at most`;
    throw new StorageError("library", `${lack}: ${change} CONNECTION LIMIT ${CONNECTIONS_ADVISED}`);
  }
}

export function tooOld(version: string): string {
  return `PostgreSQL ${version} is too old: Millrace needs PostgreSQL ${SERVER_VERSION_MIN / 10_000} or newer`;
}

/** Ends a session of this process that the server has not given up yet. */
async function endFormer(connection: Connection, { pid, started }: Backend): Promise<void> {
  await connection.rows(
    "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2",
    [pid, started, LOCK_WAIT_MS],
  );
}

async function takeLock(connection: Connection): Promise<boolean> {
  try {
    await connection.run(`SET lock_timeout = ${LOCK_WAIT_MS}; SELECT pg_advisory_lock(${LOCK}); SET lock_timeout = 0`);
    return true;
  } catch (cause) {
    if (!isLocked(cause)) throw cause;
    return false;
  }
}

async function holderOf(connection: Connection): Promise<string> {
  const [row] = await connection.rows<HolderRow>(HOLDER_QUERY);
  return describeHolder(row ?? ["another session", null, null]);
}

export type HolderRow = [name: string, since: string | null, address: string | null];

export function describeHolder([name, since, address]: HolderRow): string {
  return [name, address === null ? "" : `from ${address}`, since === null ? "" : `connected since ${since} UTC`]
    .filter((part) => part !== "")
    .join(", ");
}

async function backendOf(connection: Connection): Promise<Backend> {
  const [[pid, started] = [0, ""]] = await connection.rows<[number, string]>(
    "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()",
  );
  return { pid, started };
}
