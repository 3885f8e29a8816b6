/**
 * The server's configuration, put together from four sources: command-line flags, MILLRACE_* environment variables,
 * `millrace.toml` in the served directory, and defaults. The first that names a value wins.
 * One exception: `crash_retries` of the file beats its flag, because the settings of a running server are written
 * back to the file and must still hold after a restart with the same command line.
 */

import { availableParallelism, homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { TransportName } from "#gateway/transport";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import type { Variable } from "./config-keys.ts";
import { type Catchup, ConfigError, type Durability, durabilityOf, integerText, PORT_MAX, transportOf } from "./config-values.ts";

export { ConfigError } from "./config-values.ts";

/** Where the server listens when nothing else is said. */
export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_PORT = 4270;
/** Seconds a cancelled run has to end by itself before its engine is signalled. */
const DEFAULT_CANCEL_GRACE_SECS = 10;
/** A run that crashed is tried again after a random wait in this range, so that many crashed at once do not return at once. */
const DEFAULT_CRASH_RERUN_DELAY_SECS: readonly [number, number] = [5, 15];
/** An engine process is replaced after this many runs, which bounds what leaks of user code can add up to. */
const DEFAULT_ENGINE_MAX_RUNS = 100;
/** Engines started by others cost a parked poll each; this many fit into the gateway's memory with ease. */
const DEFAULT_MAX_EXTERNAL_ENGINES = 10_000;
/** Imports of large libraries fit into this, and on a machine with little memory it still ends before the machine does. */
const DEFAULT_USER_CODE_HEAP_MB = 1_024;
const DEFAULT_CRASH_RETRIES = 5;
const DEFAULT_RETAIN_DAYS = 30;
/** sockaddr_un holds 108 bytes on Linux (104 on macOS) with the closing zero. */
const SOCKET_PATH_MAX = 103;

/** Outgoing mail, for the `email` action of rules. */
export interface EmailConfig {
  host: string;
  /** Default 587. */
  port: number;
  /** False sends in the clear; true (default) asks for TLS, at once on port 465, by STARTTLS elsewhere. */
  tls: boolean;
  username: string | null;
  password: string | null;
  /** The sender address. */
  from: string;
}

/** A command that runs flows of modules the server's own engine does not run. */
export interface EngineCommand {
  /** File pattern of the module, for example `*.py`; `*` stands for any text, `?` for one character. */
  pattern: string;
  /** Program and arguments; the server adds --engine-id, --source-dir and --module. */
  command: string[];
}

/** Everything the server needs to know before it starts. */
export interface ServerConfig {
  /** Absolute directory of the database, the key and the discovery file. */
  home: string;
  /** Address of the TCP listener. */
  host: string;
  /** Port of the TCP listener; 0 takes a free one. */
  port: number;
  /** What clients must send as bearer token; null when none is asked for. */
  token: string | null;
  /** Absolute path of the Unix socket, null for none. */
  socket: string | null;
  /** True when a listener beyond loopback without a token was asked for by name. */
  allowAnonymous: boolean;
  /** Host names accepted in the Host header beside loopback and the bound address. */
  allowedHosts: string[];
  /** True when agents may only read: the MCP endpoint refuses tools that change something. */
  mcpReadOnly: boolean;
  /** False when the server must start no engine processes. */
  engines: boolean;
  /** False: no fire is decided (a server that is there for one run only). */
  schedules: boolean;
  /** Engine processes the server starts at most at one time; default: number of processors. */
  maxEngines: number;
  /** Runs after which an engine process is replaced. */
  engineMaxRuns: number;
  /** Engines started by others that may poll at one time. */
  maxExternalEngines: number;
  /** Runs that may be unfinished at one time; null: as many as fit into the heap. */
  maxUnfinishedRuns: number | null;
  /** Commands for modules in other languages, in the order of the file; the first pattern that fits counts. */
  engineCommands: EngineCommand[];
  /** Heap in MB of the process of user code: rules in code, hooks and custom routes. */
  userCodeHeapMb: number;
  /** Seconds between a cancel and the signal to the engine. */
  cancelGraceSecs: number;
  /** Shortest and longest wait in seconds before a crashed run is tried again. */
  crashRerunDelaySecs: [number, number];
  /** Whether a browser is opened on the dashboard at start. */
  openBrowser: boolean;
  /** `full` syncs each commit to the disk, `normal` leaves the newest commits to the kernel. Both survive a crash of the process. */
  durability: Durability;
  /** Server library of the gateway; null takes the fastest that works here. */
  transport: TransportName | null;
  /** Threads beside the main one: with two, deciding shares the thread of the gateway. Default: three above two processors. */
  threads: "two" | "three";
  /** Catch-up policy of schedules that name none. */
  catchupDefault: Catchup;
  /** Reruns after a crash of flows that name no number. */
  crashRetriesDefault: number;
  /** Days after which events and log lines are deleted; 0 keeps them. */
  retainDays: number;
  /** Days after which ended runs are deleted; null keeps them. */
  retainRunsDays: number | null;
  /** Total of each named resource. */
  resources: Record<string, number>;
  /** Mail settings, null when mail is not set up. */
  email: EmailConfig | null;
  /** The file that settings changed at run time are written to, whether it exists or not. */
  configPath: string;
}

/** Command-line flags as they were typed; numbers are still text. Absent = not given. */
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
  /** False for --no-engines. */
  engines?: boolean | undefined;
  /** False: schedules rest. */
  schedules?: boolean | undefined;
  /** False for --no-open. */
  open?: boolean | undefined;
  allowAnonymous?: boolean | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration and what should be said about it before the start. */
export interface LoadedConfig {
  config: ServerConfig;
  /** One line each: unknown keys and tables, and settings that are allowed but unwise. */
  warnings: string[];
}

/** The data directory: flag, MILLRACE_HOME, or `~/.millrace`. Always absolute. @throws ConfigError for an empty flag. */
export function homeDirectory(flag: string | undefined, env: Environment): string {
  return resolve(text("--home", flag) ?? present(env, "MILLRACE_HOME") ?? join(homedir(), ".millrace"));
}

/**
 * Reads and checks the configuration for serving a directory.
 * @throws ConfigError naming the file, flag or variable, the key, and what was expected there.
 */
export function loadConfig(flags: ConfigFlags, env: Environment, servedDir: string): LoadedConfig {
  const configPath = join(resolve(servedDir), "millrace.toml");
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
  const port = numberFlag("--port", flags.port, 0, PORT_MAX) ?? numberVariable(env, "MILLRACE_PORT", PORT_MAX);
  return {
    home: homeDirectory(flags.home, env),
    host: text("--host", flags.host) ?? present(env, "MILLRACE_HOST") ?? server.host ?? DEFAULT_HOST,
    port: port ?? server.port ?? DEFAULT_PORT,
    token: text("--token", flags.token) ?? present(env, "MILLRACE_TOKEN") ?? server.token ?? null,
    socket: socketPath(text("--socket", flags.socket) ?? present(env, "MILLRACE_SOCKET"), server.socket, configPath),
    allowAnonymous: flags.allowAnonymous ?? false,
    allowedHosts: server.allowedHosts ?? [],
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
    maxExternalEngines: server.maxExternalEngines ?? DEFAULT_MAX_EXTERNAL_ENGINES,
    maxUnfinishedRuns: server.maxUnfinishedRuns ?? null,
    engineCommands: file.engineCommands,
    userCodeHeapMb: server.userCodeHeapMb ?? DEFAULT_USER_CODE_HEAP_MB,
    cancelGraceSecs: server.cancelGraceSecs ?? DEFAULT_CANCEL_GRACE_SECS,
    crashRerunDelaySecs: server.crashRerunDelaySecs ?? [...DEFAULT_CRASH_RERUN_DELAY_SECS],
    openBrowser: (flags.open ?? true) && !switchedOn(env, "MILLRACE_NO_BROWSER") && (server.openBrowser ?? true),
    threads: server.threads ?? (availableParallelism() > 2 ? "three" : "two"),
    transport: transportVariable(present(env, "MILLRACE_TRANSPORT")) ?? server.transport ?? null,
    durability: durabilityFlag(flags.durability) ?? server.durability ?? "normal",
    catchupDefault: defaults.catchup ?? "skip",
    crashRetriesDefault: defaults.crashRetries ?? numberFlag("--crash-retries", flags.crashRetries, 0) ?? DEFAULT_CRASH_RETRIES,
    retainDays: defaults.retainDays ?? DEFAULT_RETAIN_DAYS,
    retainRunsDays: defaults.retainRunsDays ?? null,
    resources: file.resources,
    email: file.email,
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

/** Flags and variables are relative to the working directory, the file's value to the file. */
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

function numberVariable(env: Environment, name: Variable, max: number): number | undefined {
  const value = present(env, name);
  return value === undefined ? undefined : integerText(name, value, 0, max);
}

function transportVariable(value: string | undefined): TransportName | undefined {
  return value === undefined ? undefined : transportOf("MILLRACE_TRANSPORT", value);
}

function durabilityFlag(value: string | undefined): Durability | undefined {
  return value === undefined ? undefined : durabilityOf("--durability", value);
}

/** A variable that is set to nothing counts as not set. */
function present(env: Environment, name: Variable): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

function switchedOn(env: Environment, name: Variable): boolean {
  const value = present(env, name)?.toLowerCase();
  return value !== undefined && !["0", "false", "no", "off"].includes(value);
}
