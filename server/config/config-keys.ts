/**
 * Every key of millrace.toml and every environment variable: the check of its value, its meaning and its default. The
 * reference of the configuration is generated from this.
 */
import type { TransportName } from "#gateway/transport/transport";
import { ENGINE_SLOTS_MAX } from "#protocol/limits";
import type { EmailConfig } from "./config.ts";
import {
  amount,
  type Catchup,
  type Check,
  catchupOf,
  type Durability,
  databaseUrl,
  durabilityOf,
  flag,
  httpUrl,
  integer,
  networkList,
  optionalText,
  PORT_MAX,
  secondsRange,
  share,
  textList,
  textValue,
  threadsOf,
  transportOf,
} from "./config-values.ts";

/** Port on which mail servers accept mail from programs (submission). */
export const MAIL_PORT = 587;
/** Node and the SDK need about half of this. */
const USER_CODE_HEAP_MB_MIN = 32;

export interface ServerTable {
  host?: string;
  port?: number;
  token?: string;
  socket?: string;
  maxEngines?: number;
  engineMaxRuns?: number;
  engineSlots?: number;
  maxRunning?: number;
  parkAfterSecs?: number;
  engineGrowthMb?: number;
  otlpEndpoint?: string;
  traceSampleRatio?: number;
  maxExternalEngines?: number;
  maxUnfinishedRuns?: number;
  userCodeHeapMb?: number;
  cancelGraceSecs?: number;
  drainSecs?: number;
  crashRerunDelaySecs?: [number, number];
  openBrowser?: boolean;
  allowedHosts?: string[];
  mcpReadOnly?: boolean;
  durability?: Durability;
  threads?: "two" | "three";
  transport?: TransportName;
}

export interface DefaultsTable {
  catchup?: Catchup;
  crashRetries?: number;
  retainDays?: number;
  retainRunsDays?: number;
  maxEngines?: number;
  engineMaxRuns?: number;
}

/** A key of the file. */
export interface Key<Value> {
  key: string;
  check: Check<Value>;
  about: string;
  /** The default, in words. */
  standard: string;
}

export type Keys<T> = { [Name in keyof T]-?: Key<T[Name]> };

/** [server]. A new setting is one line here, one in ServerTable and one in `combine` of config.ts. */
export const SERVER_KEYS: Keys<ServerTable> = {
  host: { key: "host", check: optionalText, about: "Address to listen on", standard: "127.0.0.1" },
  port: { key: "port", check: integer(0, PORT_MAX), about: "Port to listen on; 0 takes a free one", standard: "4270" },
  token: { key: "token", check: optionalText, about: "Bearer token that clients must send", standard: "none is asked for" },
  socket: {
    key: "socket",
    check: optionalText,
    about: "Path of an additional Unix socket, without a token; relative to the file",
    standard: "none",
  },
  maxEngines: {
    key: "max_engines",
    check: integer(1),
    about: "Maximum number of engine processes that the server runs at one time",
    standard: "number of processors",
  },
  engineMaxRuns: {
    key: "engine_max_runs",
    check: integer(1),
    about: "Runs after which an engine process is replaced, which bounds leaks of memory and other resources by user code",
    standard: "100000",
  },
  engineSlots: {
    key: "engine_slots",
    check: integer(1, ENGINE_SLOTS_MAX),
    about:
      "Runs that one engine executes at a time, at most: an engine takes further runs as long as its runs mostly wait. 1: one run after the other",
    standard: "256",
  },
  maxRunning: {
    key: "max_running",
    check: integer(1),
    about:
      "Runs that all engines execute at one time, at most, whatever their flow. This protects what the runs call; `max_engines` does not, because one engine executes many runs",
    standard: "no cap",
  },
  parkAfterSecs: {
    key: "park_after_secs",
    check: amount,
    about:
      "Waits of durable runs and retry delays that are longer leave the engine: the run continues in any engine when its wait is over",
    standard: "5",
  },
  engineGrowthMb: {
    key: "engine_growth_mb",
    check: integer(0),
    about:
      "An engine process is replaced when its flows hold this many MB more after a garbage collection than after its first runs; 0: never",
    standard: "256",
  },
  otlpEndpoint: {
    key: "otlp_endpoint",
    check: httpUrl,
    about:
      "Base URL of an OpenTelemetry collector: engines send it the traces of runs by OTLP over HTTP (protobuf, path `/v1/traces`)",
    standard: "no traces",
  },
  traceSampleRatio: {
    key: "trace_sample_ratio",
    check: share,
    about: "Share of runs that are traced, from 0 to 1. A run that is created within a trace is traced if that trace is",
    standard: "1",
  },
  maxExternalEngines: {
    key: "max_external_engines",
    check: integer(0),
    about: "Engines started by others that may poll at one time",
    standard: "10000",
  },
  maxUnfinishedRuns: {
    key: "max_unfinished_runs",
    check: integer(1),
    about: "Runs that may wait, run or be paused at one time; large runs count as several. Further runs are refused with 503",
    standard: "what fits into 40 % of the heap that the server was started with: 250000 for each GB",
  },
  userCodeHeapMb: {
    key: "user_code_heap_mb",
    check: integer(USER_CODE_HEAP_MB_MIN),
    about: "Heap in MB of the user code process: rules in code, hooks and custom routes",
    standard: "1024",
  },
  cancelGraceSecs: {
    key: "cancel_grace_secs",
    check: amount,
    about:
      "Seconds a cancelled run has to end by itself before its engine is signalled; after twice that time the engine is killed",
    standard: "10",
  },
  drainSecs: {
    key: "drain_secs",
    check: amount,
    about:
      "Seconds that a stop waits for the runs under way, while no run is created or handed out. With 0 the runs continue in their engines and report to the next server, which is not possible in a container that ends",
    standard: "0",
  },
  crashRerunDelaySecs: {
    key: "crash_rerun_delay_secs",
    check: secondsRange,
    about: "Delay before a crashed run is run again: seconds, or `[shortest, longest]`",
    standard: "[5, 15]",
  },
  openBrowser: { key: "open_browser", check: flag, about: "Open the dashboard at the start, on a desktop", standard: "true" },
  allowedHosts: {
    key: "allowed_hosts",
    check: textList,
    about: "Names under which the server may be addressed, besides loopback and `host`",
    standard: "[]",
  },
  mcpReadOnly: { key: "mcp_read_only", check: flag, about: "Agents (MCP) may only read", standard: "false" },
  durability: {
    key: "durability",
    check: durabilityOf,
    about: "`full` flushes each commit to the disk before it is answered; both survive a crash of the process",
    standard: '"normal"',
  },
  threads: {
    key: "threads",
    check: threadsOf,
    about: "Threads besides main; with two, core and gateway share a thread",
    standard: '"three" above two processors or with PostgreSQL, else "two"',
  },
  transport: {
    key: "transport",
    check: transportOf,
    about: "Server library: uWebSockets.js (`uws`) or Node's own (`node`), which is slower and works everywhere",
    standard: '"uws" where its binary loads, else "node"',
  },
};

/** [defaults]. With a store in SQLite, changes of `retain_days` and `crash_retries` at run time are written back here. */
export const DEFAULTS_KEYS: Keys<DefaultsTable> = {
  catchup: {
    key: "catchup",
    check: catchupOf,
    about: "What happens to fires missed while the server was down: `skip`, `latest` or `all`; for schedules without a policy",
    standard: '"skip"',
  },
  crashRetries: {
    key: "crash_retries",
    check: integer(0),
    about: "How often a run whose engine crashed is run again; for flows without a value. The file overrides the flag",
    standard: "5",
  },
  retainDays: {
    key: "retain_days",
    check: integer(0),
    about: "Days after which events and log lines are deleted; 0 keeps them",
    standard: "30",
  },
  retainRunsDays: {
    key: "retain_runs_days",
    check: integer(1),
    about: "Days after which ended runs are deleted, with all their data",
    standard: "they are kept",
  },
  maxEngines: { key: "max_engines", check: integer(1), about: "As in `[server]`, which takes precedence", standard: "see there" },
  engineMaxRuns: {
    key: "engine_max_runs",
    check: integer(1),
    about: "As in `[server]`, which takes precedence",
    standard: "see there",
  },
};

/** [email]: outgoing mail, for the `email` action of rules. */
export const EMAIL_KEYS: Keys<EmailConfig> = {
  host: { key: "host", check: textValue, about: "Name of the mail server", standard: "needed" },
  port: { key: "port", check: integer(1, PORT_MAX), about: "Port of the mail server", standard: String(MAIL_PORT) },
  tls: {
    key: "tls",
    check: flag,
    about: "Use TLS: at once on port 465, by STARTTLS on other ports. `false` sends without encryption",
    standard: "true",
  },
  username: {
    key: "username",
    check: (where, value) => optionalText(where, value) ?? null,
    about: "Account to log in with",
    standard: "no login",
  },
  password: {
    key: "password",
    check: (where, value) => optionalText(where, value) ?? null,
    about: "Password of the account",
    standard: "none",
  },
  from: { key: "from", check: textValue, about: "Sender address", standard: "needed" },
};

/** [webhooks]: requests of rules to other servers. */
export interface WebhooksTable {
  networks?: string[];
}

/** [store]: where rows are stored, if not in the file db.sqlite of the home. */
export interface StoreTable {
  url?: string;
  waitSecs?: number;
}

export const STORE_KEYS: Keys<StoreTable> = {
  url: {
    key: "url",
    check: databaseUrl,
    about: "PostgreSQL database for the store: `postgres://user:password@host:5432/database`",
    standard: "the file db.sqlite in the home",
  },
  waitSecs: {
    key: "wait_secs",
    check: amount,
    about: "Seconds that the start waits for a database that cannot be reached",
    standard: "0",
  },
};

export const WEBHOOKS_KEYS: Keys<WebhooksTable> = {
  networks: {
    key: "allow",
    check: networkList,
    about:
      'Networks to which webhooks may go besides this machine and public addresses, for example `["192.168.0.0/16"]`. The metadata addresses of clouds stay refused',
    standard: "none",
  },
};

/** Tables whose keys the user chooses. */
export const FREE_TABLES = {
  resources:
    "Total of each named resource, a number. A resource without an entry has a total of 1; 0 holds back everything that needs it",
  engines: 'Command that runs flow files of a pattern, for example `"*.py" = "python3 engine.py"`; the first match counts',
} as const;

/** Environment variables that the server reads. */
export const VARIABLES = {
  MILLRACE_HOME: "Data directory: store, key, discovery file, log (default `~/.millrace`)",
  MILLRACE_HOST: "As `[server] host`",
  MILLRACE_PORT: "As `[server] port`",
  MILLRACE_ALLOWED_HOSTS: "As `[server] allowed_hosts`, separated by commas",
  MILLRACE_TOKEN: "As `[server] token`; clients and engines send it",
  MILLRACE_SOCKET: "As `[server] socket`, relative to the working directory",
  MILLRACE_STORE: "As `[store] url`",
  MILLRACE_SECRET_KEY:
    "Key of secret variables, 32 bytes as base64, in place of the file `secret.key` of the home; also for engines and clients that read secrets",
  MILLRACE_SECRET_KEY_FILE: "Path of a file with that key",
  MILLRACE_OTLP_ENDPOINT: "As `[server] otlp_endpoint`",
  MILLRACE_TRANSPORT: "As `[server] transport`",
  MILLRACE_NO_BROWSER: "Anything but 0, false, no or off: no browser is opened",
} as const;

export type Variable = keyof typeof VARIABLES;
