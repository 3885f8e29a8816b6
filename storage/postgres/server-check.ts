/**
 * What the doctor looks at in a database beside the rows of the store: whose the database is, and whether its server keeps what it
 * acknowledges. Catalogs and settings are read, nothing is changed; what a role may not see is reported as not checked.
 */
import type { StoreCheck } from "../invariants/check-store.ts";
import { type Finding, told } from "../invariants/invariant.ts";
import type { Database } from "../sqlite/driver.ts";
import { APPLIED_MIGRATIONS, knownVersion, refuseForeign, SCHEMA_TABLES } from "./migrate.ts";
import { POSTGRES_MIGRATIONS } from "./migrations/index.ts";
import { describeHolder, HOLDER_QUERY, type HolderRow, SERVER_VERSION_MIN, tooOld } from "./session.ts";

/** Times of the server are those of its machine: a larger difference misleads whoever compares them with those of the database. */
const CLOCK_DIFFERENCE_MAX_US = 5_000_000;
/** A minute of moves leaves fewer dead rows, which autovacuum then removes. */
const DEAD_ROWS_MAX = 100_000;

/** Its values at the start of a session, which those of the role and of the database precede. */
const SETTINGS = `SELECT name, reset_val FROM pg_settings WHERE name IN ('autovacuum', 'data_checksums',
  'default_transaction_read_only', 'fsync', 'full_page_writes', 'server_encoding', 'server_version', 'server_version_num',
  'synchronous_commit', 'synchronous_standby_names', 'track_counts')`;

const SCHEMA_RIGHTS = `SELECT current_user::text, current_schema()::text,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)::int::int8`;

/** Tables that the role does not own, and the rights that it lacks there. */
const TABLE_RIGHTS = `SELECT c.relname::text, concat_ws(', ',
    CASE WHEN NOT has_table_privilege(c.oid, 'SELECT') THEN 'SELECT' END,
    CASE WHEN NOT has_table_privilege(c.oid, 'INSERT') THEN 'INSERT' END,
    CASE WHEN NOT has_table_privilege(c.oid, 'UPDATE') THEN 'UPDATE' END,
    CASE WHEN NOT has_table_privilege(c.oid, 'DELETE') THEN 'DELETE' END)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY c.relname`;

const DEAD_ROWS = `SELECT relname::text, n_dead_tup, n_live_tup FROM pg_stat_user_tables
  WHERE schemaname = current_schema() AND n_dead_tup > ${DEAD_ROWS_MAX} AND n_dead_tup > n_live_tup ORDER BY n_dead_tup DESC`;

const STANDBYS = "SELECT application_name, state, sync_state FROM pg_stat_replication ORDER BY application_name, pid";
const SEES_STANDBYS =
  "SELECT pg_has_role('pg_read_all_stats', 'USAGE')::int::int8, current_user::text, pg_is_in_recovery()::int::int8";

type Settings = ReadonlyMap<string, string>;

/** What the schema of a database holds. */
export interface DatabaseContents {
  /** Applied migrations; 0 for an empty database. */
  version: number;
  /** The newest version. */
  known: number;
  /** An import has begun and not ended. */
  isImporting: boolean;
}

/** PostgreSQL's version as text. The first read of a handle, which fails when there is no connection. */
export function serverVersion(database: Database): string {
  return database.prepareRaw<[string]>("SELECT current_setting('server_version')").get()?.[0] ?? "";
}

/** Who has the lock of the store; null if no session has it. */
export function holderOfStore(database: Database): string | null {
  const row = database.prepareRaw<HolderRow>(HOLDER_QUERY).get();
  return row === undefined ? null : describeHolder(row);
}

/** @throws StorageError for tables of another program, a newer store, and tables that the role may not read */
export function databaseContents(database: Database): DatabaseContents {
  const known = POSTGRES_MIGRATIONS.length;
  const tables = database.prepareRaw<[string]>(SCHEMA_TABLES).all().flat();
  if (tables.length === 0) return { version: 0, known, isImporting: false };
  const [name] = database.prepareRaw<[string]>("SELECT current_database()::text").get() ?? [""];
  refuseForeign(tables, name);
  const [applied] = database.prepareRaw<[number]>(APPLIED_MIGRATIONS).get() ?? [0];
  return { version: knownVersion(applied), known, isImporting: tables.includes("import_progress") };
}

/** @param nowUs the clock of this machine */
export function checkServer(database: Database, nowUs: () => number): StoreCheck[] {
  const settings = new Map(database.prepareRaw<[string, string]>(SETTINGS).all());
  return [
    settingsCheck(settings),
    rightsCheck(database),
    clockCheck(database, nowUs),
    vacuumCheck(database, settings),
    standbyCheck(database, settings),
  ];
}

function check(id: string, title: string, findings: Finding[], unchecked: string | null = null): StoreCheck {
  return { id, title, checked: unchecked === null, unchecked, findings };
}

function settingsCheck(settings: Settings): StoreCheck {
  const broken: string[] = [];
  const version = settings.get("server_version") ?? "";
  const encoding = settings.get("server_encoding") ?? "";
  if (Number(settings.get("server_version_num")) < SERVER_VERSION_MIN) broken.push(tooOld(version));
  if (settings.get("fsync") === "off")
    broken.push("fsync is off: a crash of the database's machine can destroy the store. Set fsync = on");
  if (settings.get("full_page_writes") === "off")
    broken.push("full_page_writes is off: a crash of the database's machine can damage pages. Set full_page_writes = on");
  if (settings.get("synchronous_commit") === "off")
    broken.push(
      "synchronous_commit is off: a crash of PostgreSQL loses changes that were acknowledged. Reset it for the role, the database and the server",
    );
  if (encoding !== "UTF8")
    broken.push(`the database has the encoding ${encoding}: create one with ENCODING 'UTF8' and import into it`);
  const findings = told(broken);
  if (settings.get("default_transaction_read_only") === "on")
    findings.push({ level: "unusual", text: "default_transaction_read_only is on: a server cannot store anything" });
  const sums = `data checksums are ${settings.get("data_checksums") ?? "unknown"}`;
  return check("server", `PostgreSQL ${version} keeps what it acknowledges; ${sums}`, findings);
}

function rightsCheck(database: Database): StoreCheck {
  const [user, schema, mayCreate] = database.prepareRaw<[string, string | null, number]>(SCHEMA_RIGHTS).get() ?? ["", null, 0];
  const missing: string[] = [];
  if (schema === null)
    missing.push(`no schema of the search_path exists or may be used: GRANT USAGE, CREATE ON SCHEMA ... TO ${user}`);
  else if (mayCreate === 0) missing.push(`an upgrade may not create tables: GRANT CREATE ON SCHEMA ${schema} TO ${user}`);
  const foreign: string[] = [];
  for (const [table, lacking] of database.prepareRaw<[string, string]>(TABLE_RIGHTS).all()) {
    if (lacking === "") foreign.push(table);
    else missing.push(`${lacking} on ${table} is not granted to ${user}: make ${user} the owner of the table`);
  }
  const findings = told(missing);
  if (foreign.length > 0)
    findings.push({
      level: "unusual",
      text: `${user} does not own ${foreign.slice(0, 3).join(", ")}: an upgrade may not change them`,
    });
  return check("rights", `the role ${user} may do what a server does`, findings);
}

function clockCheck(database: Database, nowUs: () => number): StoreCheck {
  const before = nowUs();
  const sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8";
  const [theirs] = database.prepareRaw<[number]>(sql).get() ?? [before];
  const findings = told(clockDifference(theirs, before, nowUs()), "unusual");
  return check("db-clock", "the clocks of the database and of this machine agree", findings);
}

/** @param before the clock of this machine before and after that of the database was read */
export function clockDifference(theirs: number, before: number, after: number): string[] {
  const ahead = Math.max(theirs - after, 0);
  const differs = Math.max(ahead, before - theirs);
  if (differs <= CLOCK_DIFFERENCE_MAX_US) return [];
  const side = ahead > 0 ? "ahead of" : "behind";
  return [`the clock of the database is ${Math.round(differs / 1_000_000)} s ${side} that of this machine: set both by NTP`];
}

function vacuumCheck(database: Database, settings: Settings): StoreCheck {
  const texts: string[] = [];
  if (settings.get("autovacuum") === "off" || settings.get("track_counts") === "off")
    texts.push(
      "autovacuum is off: tables grow with each change, and reads become slow. Set autovacuum = on and track_counts = on",
    );
  for (const [table, dead, live] of database.prepareRaw<[string, number, number]>(DEAD_ROWS).all())
    texts.push(
      `${table} has ${dead} dead rows beside ${live}: look for a transaction that stays open in the database, or VACUUM ${table}`,
    );
  return check("vacuum", "rows that were replaced are removed", told(texts, "unusual"));
}

function standbyCheck(database: Database, settings: Settings): StoreCheck {
  const [seen, user, isStandby] = database.prepareRaw<[number, string, number]>(SEES_STANDBYS).get() ?? [0, "", 0];
  if (isStandby === 1) {
    const text = "this is a standby, which takes no changes: the URL should lead to the primary";
    return check("standbys", "the database is a primary", [{ level: "unusual", text }]);
  }
  if (seen === 0) return check("standbys", "standbys follow", [], `the standbys: GRANT pg_read_all_stats TO ${user} to see them`);
  const rows = database.prepareRaw<[string, string | null, string | null]>(STANDBYS).all();
  const named = settings.get("synchronous_standby_names") ?? "";
  const isWaiting = named !== "" && !rows.some(([, , sync]) => sync === "sync" || sync === "quorum");
  const waits = `synchronous_standby_names is ${named}, and no such standby is connected: commits wait for one`;
  const list = rows.map(([name, state, sync]) => `${name} (${state ?? "unknown"}, ${sync ?? "unknown"})`).join(", ");
  const title = rows.length === 0 ? "no standby is connected" : `standbys follow: ${list}`;
  return check("standbys", title, told(isWaiting ? [waits] : [], "unusual"));
}
