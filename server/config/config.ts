/**
 * The server's configuration from four sources: command-line flags, MILLRACE_* environment variables, `millrace.toml` in the
 * served directory, and defaults. The first source that sets a value wins. One exception: `crash_retries` of the file beats
 * its flag, because settings changed at run time are written back to the file and must persist over a restart with the same
 * command line.
 */

import { availableParallelism, homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { TransportName } from "#gateway/transport/transport";
import { PARK_AFTER_SECS_DEFAULT } from "#protocol/limits";
import { readSecretKey, type SecretKeySource, secretKeySource } from "#protocol/values/secret-key";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import type { Variable } from "./config-keys.ts";
import {
  type Catchup,
  ConfigError,
  type Durability,
  databaseUrl,
  durabilityOf,
  httpUrl,
  integerText,
  PORT_MAX,
  transportOf,
} from "./config-values.ts";

export { ConfigError } from "./config-values.ts";

/** In the served directory. */
const CONFIG_FILE = "millrace.toml";

/** Default listen address. */
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 4270;
/** Seconds that a cancelled run has to end by itself before its engine is signalled. */
const DEFAULT_CANCEL_GRACE_SECS = 10;
/**
 * A crashed run is retried after a random delay in this range, so that runs which crashed together do not all return
 * together.
 */
const DEFAULT_CRASH_RERUN_DELAY_SECS: readonly [number, number] = [5, 15];
/** An engine process is replaced after this many runs, which bounds leaks that its garbage collections do not show (ADR 44). */
const DEFAULT_ENGINE_MAX_RUNS = 100_000;
/** Runs of one engine at a time: beyond some hundred, a second engine is faster than a fuller one. */
const DEFAULT_ENGINE_SLOTS = 256;
/** Growth of memory in MB after which an engine is replaced: leaks of less do not matter before it has done its runs. */
const DEFAULT_ENGINE_GROWTH_MB = 256;
/** External engines cost one parked poll each; this many fit easily into the gateway's memory. */
const DEFAULT_MAX_EXTERNAL_ENGINES = 10_000;
/**
 * Enough for imports of large libraries; on a machine with little memory, the process hits this limit before the machine runs
 * out.
 */
const DEFAULT_USER_CODE_HEAP_MB = 1_024;
const DEFAULT_CRASH_RETRIES = 5;
const DEFAULT_RETAIN_DAYS = 30;
/** sockaddr_un holds 108 bytes on Linux (104 on macOS), including the final NUL. */
const SOCKET_PATH_MAX = 103;

/** Outgoing mail, for the `email` action of rules. */
export interface EmailConfig {
  host: string;
  /** Default 587. */
  port: number;
  /** False sends unencrypted; true (default) requires TLS, implicit on port 465, by STARTTLS on other ports. */
  tls: boolean;
  username: string | null;
  password: string | null;
  /** The sender address. */
  from: string;
}

/** A command that runs flows of modules that the server's own engine cannot run. */
export interface EngineCommand {
  /** File pattern of the module, for example `*.py`; `*` stands for any text, `?` for one character. */
  pattern: string;
  /** Program and arguments; the server appends --engine-id, --source-dir and --module. */
  command: string[];
}

/** The complete configuration of a server. */
export interface ServerConfig {
  /** Absolute directory of the database, the key and the discovery file. */
  home: string;
  /** Address of the TCP listener. */
  host: string;
  /** Port of the TCP listener; 0 takes a free port. */
  port: number;
  /** The bearer token that clients must send; null if none is required. */
  token: string | null;
  /** Absolute path of the Unix socket, or null. */
  socket: string | null;
  /** True when a listener beyond loopback without a token was explicitly allowed. */
  allowAnonymous: boolean;
  /** Host names accepted in the Host header besides loopback and the bound address. */
  allowedHosts: string[];
  /** True when MCP clients may only read: the MCP endpoint rejects tools that change something. */
  mcpReadOnly: boolean;
  /** False when the server must not start engine processes. */
  engines: boolean;
  /** False: no fire is decided (a server that exists for one run only). */
  schedules: boolean;
  /** Maximum number of engine processes that the server starts; default: number of processors. */
  maxEngines: number;
  /** Runs after which an engine process is replaced. */
  engineMaxRuns: number;
  /** Runs of one engine at a time, at most. */
  engineSlots: number;
  /** Most runs that engines execute at one time, all flows together; null for no cap. */
  maxRunning: number | null;
  parkAfterSecs: number;
  /** Growth of an engine's memory in MB after which it is replaced; 0: never. */
  engineGrowthMb: number;
  /** Base URL of the collector of traces; null: runs are not traced. */
  otlpEndpoint: string | null;
  /** Share of runs that begin a trace, from 0 to 1. */
  traceSampleRatio: number;
  /** Maximum number of external engines that may poll. */
  maxExternalEngines: number;
  /** Maximum number of unfinished runs; null: as many as fit into the heap. */
  maxUnfinishedRuns: number | null;
  /** Commands for modules in other languages, in the order of the file; the first matching pattern applies. */
  engineCommands: EngineCommand[];
  /** Heap in MB of the user-code process: rules in code, hooks and custom routes. */
  userCodeHeapMb: number;
  /** Seconds between a cancel and the signal to the engine. */
  cancelGraceSecs: number;
  /** Shortest and longest delay in seconds before a crashed run is retried. */
  crashRerunDelaySecs: [number, number];
  /** Whether to open a browser on the dashboard at the start. */
  openBrowser: boolean;
  /**
   * `full` syncs each commit to disk, `normal` leaves the newest commits to the kernel. Both survive a crash of the process.
   */
  durability: Durability;
  /** Server library of the gateway; null takes the fastest that loads here. */
  transport: TransportName | null;
  /**
   * Number of threads besides main; with two, the core shares the gateway's thread. Default: three on more than two
   * processors, and with PostgreSQL, for which the core waits at times.
   */
  threads: "two" | "three";
  /** Seconds that a stop waits for the runs under way in engines; 0 leaves them to the next server. */
  drainSecs: number;
  /** Catch-up policy of schedules that set none. */
  catchupDefault: Catchup;
  /** Crash retries of flows that set no number. */
  crashRetriesDefault: number;
  /** Days after which events and log lines are deleted; 0 keeps them. */
  retainDays: number;
  /** Days after which ended runs are deleted; null keeps them. */
  retainRunsDays: number | null;
  /** Total of each named resource. */
  resources: Record<string, number>;
  /** URL of the PostgreSQL database of the store; null: the file db.sqlite in the home. */
  store: string | null;
  /** Seconds that the start waits for a database that cannot be reached. */
  storeWaitSecs: number;
  /** Where the key of secrets is. */
  secretKey: SecretKeySource;
  /** Mail settings, or null. */
  email: EmailConfig | null;
  /** Networks in CIDR notation to which webhooks may go besides loopback and public addresses. */
  webhookNetworks: readonly string[];
  /** The file to which settings changed at run time are written; it may not exist yet. */
  configPath: string;
}

/** Command-line flags as typed; numbers are still text. Absent = not given. */
export interface ConfigFlags {
  home?: string | undefined;
  host?: string | undefined;
  port?: string | undefined;
  token?: string | undefined;
  socket?: string | undefined;
  maxEngines?: string | undefined;
  engineMaxRuns?: string | undefined;
  crashRetries?: string | undefined;
  durability?: string | undefined;
  store?: string | undefined;
  wait?: string | undefined;
  drain?: string | undefined;
  /** False for --no-engines. */
  engines?: boolean | undefined;
  /** False: no schedule fires. */
  schedules?: boolean | undefined;
  /** False for --no-open. */
  open?: boolean | undefined;
  allowAnonymous?: boolean | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration and its warnings. */
export interface LoadedConfig {
  config: ServerConfig;
  /** One line each: unknown keys and tables, and settings that are allowed but risky. */
  warnings: string[];
}

/** The home directory: flag, MILLRACE_HOME, or `~/.millrace`. Always absolute. @throws ConfigError for an empty flag. */
export function homeDirectory(flag: string | undefined, env: Environment): string {
  return resolve(text("--home", flag) ?? present(env, "MILLRACE_HOME") ?? join(homedir(), ".millrace"));
}

/** A database that holds a store. */
export interface NamedStore {
  url: string;
  /** What names it, for texts: --store, MILLRACE_STORE, or the key of a file. */
  namedBy: string;
}

/** A home, and the database of its store; null: the store is the file in the home. */
export interface StorePlace {
  home: string;
  database: NamedStore | null;
}

/**
 * Where the store is, for commands that work on it beside the server: by the precedence of the server. The file is the
 * `millrace.toml` of the home, for a home that is served itself, else that of the working directory, which `millrace serve` serves
 * by default.
 * @throws ConfigError as `loadConfig`
 */
export function findStore(flag: string | undefined, env: Environment, home: string, workingDir: string): StorePlace {
  const database =
    namedStore(flag, env) ?? writtenStore(join(home, CONFIG_FILE)) ?? writtenStore(join(resolve(workingDir), CONFIG_FILE));
  return { home, database };
}

function namedStore(flag: string | undefined, env: Environment): NamedStore | null {
  const variable = present(env, "MILLRACE_STORE");
  if (flag !== undefined) return { url: databaseUrl("--store", flag), namedBy: "--store" };
  return variable === undefined ? null : { url: databaseUrl("MILLRACE_STORE", variable), namedBy: "MILLRACE_STORE" };
}

function writtenStore(path: string): NamedStore | null {
  const { url } = readConfigFile(path).file.store;
  return url === undefined ? null : { url, namedBy: `[store] url in ${path}` };
}

/**
 * Loads and checks the configuration for serving a directory.
 * @throws ConfigError naming the file, flag or variable, the key, and the expected value.
 */
export function loadConfig(flags: ConfigFlags, env: Environment, servedDir: string): LoadedConfig {
  const configPath = join(resolve(servedDir), CONFIG_FILE);
  const { file, warnings } = readConfigFile(configPath);
  const config = combine(flags, env, file, configPath);
  if (config.token === null && !isLoopback(config.host)) {
    if (!config.allowAnonymous) throw anonymousRefused(config.host);
    warnings.push(`anyone who reaches ${config.host} can run code here: no token is set and --allow-anonymous was given`);
  }
  return { config, warnings };
}

function combine(flags: ConfigFlags, env: Environment, file: ConfigFile, configPath: string): ServerConfig {
  const { server, defaults } = file;
  const store = namedStore(flags.store, env)?.url ?? file.store.url ?? null;
  const port = numberFlag("--port", flags.port, 0, PORT_MAX) ?? numberVariable(env, "MILLRACE_PORT", PORT_MAX);
  return {
    home: homeDirectory(flags.home, env),
    host: text("--host", flags.host) ?? present(env, "MILLRACE_HOST") ?? server.host ?? DEFAULT_HOST,
    port: port ?? server.port ?? DEFAULT_PORT,
    token: text("--token", flags.token) ?? present(env, "MILLRACE_TOKEN") ?? server.token ?? null,
    socket: socketPath(text("--socket", flags.socket) ?? present(env, "MILLRACE_SOCKET"), server.socket, configPath),
    allowAnonymous: flags.allowAnonymous ?? false,
    allowedHosts: listVariable(env, "MILLRACE_ALLOWED_HOSTS") ?? server.allowedHosts ?? [],
    mcpReadOnly: server.mcpReadOnly ?? false,
    engines: flags.engines ?? true,
    schedules: flags.schedules ?? true,
    maxEngines:
      numberFlag("--max-engines", flags.maxEngines, 1) ?? server.maxEngines ?? defaults.maxEngines ?? availableParallelism(),
    engineMaxRuns:
      numberFlag("--engine-max-runs", flags.engineMaxRuns, 1) ??
      server.engineMaxRuns ??
      defaults.engineMaxRuns ??
      DEFAULT_ENGINE_MAX_RUNS,
    engineSlots: server.engineSlots ?? DEFAULT_ENGINE_SLOTS,
    maxRunning: server.maxRunning ?? null,
    parkAfterSecs: server.parkAfterSecs ?? PARK_AFTER_SECS_DEFAULT,
    engineGrowthMb: server.engineGrowthMb ?? DEFAULT_ENGINE_GROWTH_MB,
    otlpEndpoint: collectorVariable(present(env, "MILLRACE_OTLP_ENDPOINT")) ?? server.otlpEndpoint ?? null,
    traceSampleRatio: server.traceSampleRatio ?? 1,
    maxExternalEngines: server.maxExternalEngines ?? DEFAULT_MAX_EXTERNAL_ENGINES,
    maxUnfinishedRuns: server.maxUnfinishedRuns ?? null,
    engineCommands: file.engineCommands,
    userCodeHeapMb: server.userCodeHeapMb ?? DEFAULT_USER_CODE_HEAP_MB,
    cancelGraceSecs: server.cancelGraceSecs ?? DEFAULT_CANCEL_GRACE_SECS,
    drainSecs: durationFlag("--drain", flags.drain) ?? server.drainSecs ?? 0,
    crashRerunDelaySecs: server.crashRerunDelaySecs ?? [...DEFAULT_CRASH_RERUN_DELAY_SECS],
    openBrowser: (flags.open ?? true) && !switchedOn(env, "MILLRACE_NO_BROWSER") && (server.openBrowser ?? true),
    threads: server.threads ?? (availableParallelism() > 2 || store !== null ? "three" : "two"),
    transport: transportVariable(present(env, "MILLRACE_TRANSPORT")) ?? server.transport ?? null,
    durability: durabilityFlag(flags.durability) ?? server.durability ?? "normal",
    catchupDefault: defaults.catchup ?? "skip",
    crashRetriesDefault: defaults.crashRetries ?? numberFlag("--crash-retries", flags.crashRetries, 0) ?? DEFAULT_CRASH_RETRIES,
    retainDays: defaults.retainDays ?? DEFAULT_RETAIN_DAYS,
    retainRunsDays: defaults.retainRunsDays ?? null,
    resources: file.resources,
    store,
    storeWaitSecs: durationFlag("--wait", flags.wait) ?? file.store.waitSecs ?? 0,
    secretKey: secretKeyOf(homeDirectory(flags.home, env), env),
    email: file.email,
    webhookNetworks: file.webhooks.networks ?? [],
    configPath,
  };
}

/** True for addresses that only this host can reach. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === "localhost" || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

function anonymousRefused(host: string): ConfigError {
  return new ConfigError(
    `host ${host} can be reached from other machines and no token is set: anyone there could run code as you. ` +
      "Set a token (--token, MILLRACE_TOKEN or [server] token), or say --allow-anonymous if that is wanted",
  );
}

/** Flags and variables are relative to the working directory, the file's value is relative to the file. */
function socketPath(typed: string | undefined, written: string | undefined, configPath: string): string | null {
  const path = typed !== undefined ? resolve(typed) : written !== undefined ? resolve(configPath, "..", written) : null;
  if (path === null) return null;
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_MAX) {
    throw new ConfigError(
      `socket path ${path} has ${bytes} bytes, the system takes at most ${SOCKET_PATH_MAX}: choose a shorter one`,
    );
  }
  return isAbsolute(path) ? path : resolve(path);
}

function text(name: string, value: string | undefined): string | undefined {
  if (value === "") throw new ConfigError(`${name} must not be empty`);
  return value;
}

function numberFlag(name: string, value: string | undefined, min: number, max?: number): number | undefined {
  return value === undefined ? undefined : integerText(name, value, min, max);
}

/** Seconds: 90, 90s, 5m or 1h. */
function durationFlag(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const [, count, unit = "s"] = /^(\d{1,6})([smh])?$/.exec(value) ?? [];
  if (count === undefined) throw new ConfigError(`${name} must be a time such as 60s, 5m or 1h, not "${value}"`);
  return Number(count) * (SECONDS[unit] ?? 1);
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

function numberVariable(env: Environment, name: Variable, max: number): number | undefined {
  const value = present(env, name);
  return value === undefined ? undefined : integerText(name, value, 0, max);
}

function listVariable(env: Environment, name: Variable): string[] | undefined {
  return present(env, name)
    ?.split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function transportVariable(value: string | undefined): TransportName | undefined {
  return value === undefined ? undefined : transportOf("MILLRACE_TRANSPORT", value);
}

function collectorVariable(value: string | undefined): string | undefined {
  return value === undefined ? undefined : httpUrl("MILLRACE_OTLP_ENDPOINT", value);
}

/** A key that the environment names has to be there: without it, no secret could be read. */
function secretKeyOf(home: string, env: Environment): SecretKeySource {
  const source = secretKeySource(home, env);
  if (!source.inHome && readSecretKey(source) === null)
    throw new ConfigError(`${source.name} holds no key of secrets: 32 bytes as base64, as in the file secret.key of a home`);
  return source;
}

function durabilityFlag(value: string | undefined): Durability | undefined {
  return value === undefined ? undefined : durabilityOf("--durability", value);
}

/** An empty variable counts as not set. */
function present(env: Environment, name: Variable): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

function switchedOn(env: Environment, name: Variable): boolean {
  const value = present(env, name)?.toLowerCase();
  return value !== undefined && !["0", "false", "no", "off"].includes(value);
}
