/**
 * Reads `millrace.toml` in the served directory: checks each key and converts it to our names. Unknown keys and tables only
 * cause a warning, so that one file can serve two versions; a wrong value is an error.
 */

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parse, TomlError } from "smol-toml";
import type { EmailConfig, EngineCommand } from "./config.ts";
import {
  DEFAULTS_KEYS,
  type DefaultsTable,
  EMAIL_KEYS,
  FREE_TABLES,
  type Key,
  type Keys,
  MAIL_PORT,
  SERVER_KEYS,
  type ServerTable,
  STORE_KEYS,
  type StoreTable,
  WEBHOOKS_KEYS,
  type WebhooksTable,
} from "./config-keys.ts";
import { amount, ConfigError, commandWords } from "./config-values.ts";

/** The content of the file; absent keys are absent here. */
export interface ConfigFile {
  server: ServerTable;
  defaults: DefaultsTable;
  resources: Record<string, number>;
  email: EmailConfig | null;
  webhooks: WebhooksTable;
  store: StoreTable;
  engineCommands: EngineCommand[];
}

/** The jobs are read as a module of flows, with the other files of the folder. */
const TABLES = ["server", "defaults", "email", "webhooks", "store", "jobs", ...Object.keys(FREE_TABLES)];

/** @throws ConfigError for text that is not TOML and for values of the wrong type. A missing file counts as empty. */
export function readConfigFile(path: string): { file: ConfigFile; warnings: string[] } {
  return checkConfig(basename(path), parseToml(path));
}

/** Only the checks, on a parsed document. `name` is the file's name in messages. */
export function checkConfig(name: string, document: Record<string, unknown>): { file: ConfigFile; warnings: string[] } {
  const warnings: string[] = [];
  for (const key of Object.keys(tableOf(name, document, "store"))) if (!KEYS_OF_STORE.has(key)) throw unknownStoreKey(name, key);
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
    webhooks: read("webhooks", WEBHOOKS_KEYS),
    store: read("store", STORE_KEYS),
    engineCommands: Object.entries(tableOf(name, document, "engines")).map(([pattern, value]) => ({
      pattern,
      command: commandWords(`${name}: [engines] "${pattern}"`, value),
    })),
  };
  return { file, warnings };
}

const KEYS_OF_STORE = new Set(Object.values(STORE_KEYS).map(({ key }) => key));

/** A misspelt key must not send the rows to another store than the one that was meant. */
function unknownStoreKey(name: string, key: string): ConfigError {
  const without = "without url, the store is the file db.sqlite in the home directory";
  return new ConfigError(`${name}: [store] ${key} is not supported: [store] has ${[...KEYS_OF_STORE].join(" and ")}; ${without}`);
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
  const known = new Map(Object.entries<Key<unknown>>(keys).map(([ours, row]) => [row.key, { ours, ...row }]));
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
