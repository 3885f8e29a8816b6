/**
 * `millrace.toml` in the served directory: read, checked key by key, and turned into our names.
 * Unknown keys and tables are only warned about, so that a file can serve two versions; a wrong value is an error.
 */

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parse, TomlError } from "smol-toml";
import type { EmailConfig, EngineCommand } from "./config.ts";
import {
  amount,
  type Catchup,
  type Check,
  ConfigError,
  catchupOf,
  commandWords,
  type Durability,
  durabilityOf,
  flag,
  integer,
  optionalText,
  PORT_MAX,
  secondsRange,
  textList,
  textValue,
  threadsOf,
} from "./config-values.ts";

const MAIL_PORT = 587;

export interface ServerTable {
  host?: string;
  port?: number;
  token?: string;
  socket?: string;
  maxEngines?: number;
  engineMaxRuns?: number;
  maxExternalEngines?: number;
  cancelGraceSecs?: number;
  crashRerunDelaySecs?: [number, number];
  openBrowser?: boolean;
  allowedHosts?: string[];
  mcpReadOnly?: boolean;
  durability?: Durability;
  threads?: "two" | "three";
}

export interface DefaultsTable {
  catchup?: Catchup;
  crashRetries?: number;
  retainDays?: number;
  retainRunsDays?: number;
  maxEngines?: number;
  engineMaxRuns?: number;
}

/** What the file says; absent keys are absent here. */
export interface ConfigFile {
  server: ServerTable;
  defaults: DefaultsTable;
  resources: Record<string, number>;
  email: EmailConfig | null;
  engineCommands: EngineCommand[];
}

type Keys<T> = { [Name in keyof T]-?: { key: string; check: Check<T[Name]> } };

/** Every key of [server]. A new setting is one line here, one in ServerTable and one in `combine` of config.ts. */
const SERVER_KEYS: Keys<ServerTable> = {
  host: { key: "host", check: optionalText },
  port: { key: "port", check: integer(0, PORT_MAX) },
  token: { key: "token", check: optionalText },
  socket: { key: "socket", check: optionalText },
  maxEngines: { key: "max_engines", check: integer(1) },
  engineMaxRuns: { key: "engine_max_runs", check: integer(1) },
  maxExternalEngines: { key: "max_external_engines", check: integer(0) },
  cancelGraceSecs: { key: "cancel_grace_secs", check: amount },
  crashRerunDelaySecs: { key: "crash_rerun_delay_secs", check: secondsRange },
  openBrowser: { key: "open_browser", check: flag },
  allowedHosts: { key: "allowed_hosts", check: textList },
  mcpReadOnly: { key: "mcp_read_only", check: flag },
  durability: { key: "durability", check: durabilityOf },
  threads: { key: "threads", check: threadsOf },
};

const DEFAULTS_KEYS: Keys<DefaultsTable> = {
  catchup: { key: "catchup", check: catchupOf },
  crashRetries: { key: "crash_retries", check: integer(0) },
  retainDays: { key: "retain_days", check: integer(0) },
  retainRunsDays: { key: "retain_runs_days", check: integer(1) },
  maxEngines: { key: "max_engines", check: integer(1) },
  engineMaxRuns: { key: "engine_max_runs", check: integer(1) },
};

const EMAIL_KEYS: Keys<EmailConfig> = {
  host: { key: "host", check: textValue },
  port: { key: "port", check: integer(1, PORT_MAX) },
  tls: { key: "tls", check: flag },
  username: { key: "username", check: (where, value) => optionalText(where, value) ?? null },
  password: { key: "password", check: (where, value) => optionalText(where, value) ?? null },
  from: { key: "from", check: textValue },
};

const TABLES = ["server", "defaults", "resources", "email", "engines"];

/** @throws ConfigError for text that is not TOML and for values of the wrong kind. A file that does not exist is empty. */
export function readConfigFile(path: string): { file: ConfigFile; warnings: string[] } {
  return checkConfig(basename(path), parseToml(path));
}

/** The checks alone, on what the TOML parser made of the text. `name` is how messages call the file. */
export function checkConfig(name: string, document: Record<string, unknown>): { file: ConfigFile; warnings: string[] } {
  const warnings: string[] = [];
  if (Object.hasOwn(document, "store")) {
    throw new ConfigError(`${name}: [store] is not supported: the store is always the file db.sqlite in the home directory`);
  }
  for (const key of Object.keys(document)) {
    if (!TABLES.includes(key)) warnings.push(`${name}: unknown table [${key}] is ignored`);
  }
  const read = <T>(table: string, keys: Keys<T>): Partial<T> =>
    readKeys(name, table, tableOf(name, document, table), keys, warnings);
  const file: ConfigFile = {
    server: read("server", SERVER_KEYS),
    defaults: read("defaults", DEFAULTS_KEYS),
    resources: Object.fromEntries(
      Object.entries(tableOf(name, document, "resources")).map(([key, value]) => [
        key,
        amount(`${name}: [resources] ${key}`, value),
      ]),
    ),
    email: Object.hasOwn(document, "email") ? emailOf(name, read("email", EMAIL_KEYS)) : null,
    engineCommands: Object.entries(tableOf(name, document, "engines")).map(([pattern, value]) => ({
      pattern,
      command: commandWords(`${name}: [engines] "${pattern}"`, value),
    })),
  };
  return { file, warnings };
}

function parseToml(path: string): Record<string, unknown> {
  let source: string;
  try {
    source = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return {};
    throw new ConfigError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  try {
    return parse(source);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem = "not valid TOML"] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    throw new ConfigError(`${path}: line ${error.line}, column ${error.column}: ${problem}`);
  }
}

function tableOf(name: string, document: Record<string, unknown>, table: string): Record<string, unknown> {
  const value = document[table];
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Date) {
    throw new ConfigError(`${name}: ${table} must be a table: write [${table}] on a line of its own`);
  }
  return value as Record<string, unknown>;
}

function readKeys<T>(
  name: string,
  table: string,
  values: Record<string, unknown>,
  keys: Keys<T>,
  warnings: string[],
): Partial<T> {
  const known = new Map(
    Object.entries<{ key: string; check: Check<unknown> }>(keys).map(([ours, row]) => [row.key, { ours, ...row }]),
  );
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const row = known.get(key);
    if (row === undefined) {
      warnings.push(`${name}: unknown key ${key} in [${table}] is ignored`);
      continue;
    }
    const checked = row.check(`${name}: [${table}] ${key}`, value);
    if (checked !== undefined) result[row.ours] = checked;
  }
  return result as Partial<T>;
}

function emailOf(name: string, email: Partial<EmailConfig>): EmailConfig {
  const { host, from } = email;
  if (host === undefined) throw new ConfigError(`${name}: [email] needs a host`);
  if (from === undefined) throw new ConfigError(`${name}: [email] needs a from address`);
  return {
    port: MAIL_PORT,
    tls: true,
    username: null,
    password: null,
    ...email,
    host,
    from,
  };
}
