/** Errors of PostgreSQL and of the connection to it, as failures of the store whose texts say what to do. */
import { StorageError, type StorageFault } from "../sqlite/storage-error.ts";

const LOCKED =
  "PostgreSQL: another session has locked a table of the store; `SELECT pid, query FROM pg_stat_activity WHERE pid IN " +
  "(SELECT pid FROM pg_locks WHERE mode = 'AccessExclusiveLock')` shows it (55P03)";

/** Where a connection goes, for texts; without the password. */
export interface Place {
  host: string;
  port: number;
  user: string;
  database: string;
}

/** An error that the server sent, or another one, which has no severity. */
interface DriverError extends Error {
  /** SQLSTATE, or the code of a system call. */
  code?: string;
  severity?: string;
  /** How many statements before the failed one were done. */
  done?: number;
}

/** What SQLSTATEs mean that begin with these characters; the longest match counts. Others are defects. */
const FAULTS: Readonly<Record<string, StorageFault>> = {
  "28": "denied",
  "3D": "denied",
  "42501": "denied",
  "08": "unreachable",
  "57P": "unreachable",
  "53300": "unreachable",
  "53": "io",
  "53100": "full",
  "58": "io",
  "25006": "io",
  "40": "busy",
  "57014": "busy",
  XX001: "corrupt",
  XX002: "corrupt",
};

/** Of a lock that was not granted in time. */
const LOCK_NOT_AVAILABLE = "55P03";
/** Of a division by the number of rows that were as expected (commit-messages.ts). */
const DIVISION_BY_ZERO = "22012";

/** Of a statement that took longer than the time limit. */
const CANCELLED = "57014";

/** True when the connection is of no use after this error, and the statement under way may have been done or not. */
export function isLost(cause: unknown): boolean {
  const { severity } = cause as DriverError;
  return toPostgresError(cause).fault === "unreachable" || severity === "FATAL" || severity === "PANIC";
}

/** The error of a statement whose connection is lost. */
export function toLossError(cause: unknown): StorageError {
  return new StorageError("unreachable", `the connection to PostgreSQL is lost: ${(cause as DriverError).message}`, cause);
}

/** True when another session kept a lock for longer than a statement waits. */
export function isLocked(cause: unknown): boolean {
  return (cause as DriverError).code === LOCK_NOT_AVAILABLE;
}

/** True when the store was not as a commit expected. */
export function isDivergence(cause: unknown): boolean {
  return (cause as DriverError).code === DIVISION_BY_ZERO;
}

/** Which statement of several failed: 0 for the first. */
export function failedStatement(cause: unknown): number {
  return (cause as DriverError).done ?? 0;
}

/** Converts an error of a statement. */
export function toPostgresError(cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const { message, code, severity } = cause as DriverError;
  if (severity === undefined) return new StorageError("operation", message, cause);
  if (isLocked(cause)) return new StorageError("busy", LOCKED, cause);
  return new StorageError(faultOf(code ?? ""), `PostgreSQL: ${message} (${code ?? "no code"})`, cause);
}

/** Converts an error of a statement that reads: PostgreSQL cancels it after the time limit. */
export function toReadError(cause: unknown): StorageError {
  const error = toPostgresError(cause);
  return (cause as DriverError).code === CANCELLED ? new StorageError("query", error.message, cause) : error;
}

/** Converts an error of connecting. */
export function toConnectError(cause: unknown, { host, port, user, database }: Place): StorageError {
  const { message, code = "", severity } = cause as DriverError;
  const where = `${host}:${port}`;
  const fail = (fault: StorageFault, text: string) => new StorageError(fault, text, cause);
  if (code === "28P01") return fail("denied", `PostgreSQL at ${where} refuses the password of the user ${user}`);
  if (code.startsWith("28")) return fail("denied", `PostgreSQL at ${where} refuses the user ${user}: ${message}`);
  if (code === "3D000")
    return fail("denied", `PostgreSQL at ${where} has no database ${database}: create it with CREATE DATABASE, owned by ${user}`);
  if (message.includes("client password must be a"))
    return fail(
      "denied",
      `PostgreSQL at ${where} asks for a password of the user ${user}, and neither the URL of the store nor PGPASSWORD nor a .pgpass file has one`,
    );
  if (severity === undefined) return fail("unreachable", `PostgreSQL does not answer at ${where}: ${message || code}`);
  return fail(faultOf(code), `PostgreSQL at ${where} does not open the database ${database}: ${message} (${code})`);
}

/** Missing rights on tables or on the schema. */
export function withRights(error: StorageError, { user, database }: Place): StorageError {
  if (error.fault !== "denied") return error;
  const advice = `make ${user} the owner of the database ${database}, or GRANT CREATE, USAGE ON its schema`;
  return new StorageError("denied", `${error.message}: ${advice}`, error.cause);
}

function faultOf(code: string): StorageFault {
  for (let length = code.length; length > 1; length -= 1) {
    const fault = FAULTS[code.slice(0, length)];
    if (fault !== undefined) return fault;
  }
  return "operation";
}
