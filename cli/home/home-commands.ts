/** The commands that manage a server and its home, with their options. */

import type { CommandSpec, OptionSpec } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { CopyOptions } from "./backup.ts";
import type { DoctorOptions } from "./doctor.ts";
import type { ServiceOptions } from "./service.ts";
import type { StopOptions } from "./stop.ts";
import type { TransferOptions } from "./transfer.ts";

const HOME: OptionSpec = { flags: "--home <dir>", description: "data directory (default: MILLRACE_HOME or ~/.millrace)" };
const STORE: OptionSpec = {
  flags: "--store <url>",
  description: "a store in PostgreSQL (default: MILLRACE_STORE, [store] url in millrace.toml, else that of the home)",
};
const JSON_OPTION: OptionSpec = { flags: "--json", description: "print data as JSON" };

const STATUS: CommandSpec = {
  name: "status",
  description: "show whether a server runs, and its condition",
  connects: true,
  run: async (_args, options: ConnectionOptions) => (await import("./status.ts")).status(options),
};

const STOP: CommandSpec = {
  name: "stop",
  description: "stop the server of this machine in order and wait for its end",
  options: [HOME, { flags: "--timeout <seconds>", description: "how long to wait", default: "30" }, JSON_OPTION],
  run: async (_args, options: StopOptions) => (await import("./stop.ts")).stop(options),
};

const DOCTOR: CommandSpec = {
  name: "doctor",
  description: "check a home and everything in its store; changes nothing",
  options: [
    STORE,
    HOME,
    { flags: "--accept-clock", description: "check nothing; say that the machine's clock is right after it was set" },
    { flags: "--token <token>", description: "token of the server, if one runs" },
    JSON_OPTION,
  ],
  run: async (_args, options: DoctorOptions) => (await import("./doctor.ts")).doctor(options),
};

const BACKUP: CommandSpec = {
  name: "backup",
  description: "copy the store to one checked file, while the server keeps running",
  arguments: [{ name: "<file>", description: "where to" }],
  options: [
    HOME,
    { flags: "--overwrite", description: "replace a file that exists, once the new backup is complete" },
    JSON_OPTION,
  ],
  run: async ([file = ""], options: CopyOptions) => (await import("./backup.ts")).backup(file, options),
};

const RESTORE: CommandSpec = {
  name: "restore",
  description: "put a backup in the place of the store, which is kept; the server must not run",
  arguments: [{ name: "<file>", description: "a backup" }],
  options: [HOME, JSON_OPTION],
  run: async ([file = ""], options: CopyOptions) => (await import("./backup.ts")).restore(file, options),
};

const EXPORT: CommandSpec = {
  name: "export",
  description: "write the store to a file from which `millrace import` makes a store of either kind; the server must not run",
  arguments: [{ name: "<file>", description: "where to" }],
  options: [
    STORE,
    HOME,
    { flags: "--overwrite", description: "replace a file that exists, once the new one is complete" },
    JSON_OPTION,
  ],
  run: async ([file = ""], options: TransferOptions) => (await import("./transfer.ts")).exportTo(file, options),
};

const SERVICE: CommandSpec = {
  name: "service",
  description: "run the server as a service of the system",
  commands: [
    {
      name: "install",
      description: "write a systemd unit for the user's own services, or with --system for the machine; it is printed first",
      arguments: [{ name: "[dir]", description: "directory with flow files and millrace.toml", default: "." }],
      options: [
        HOME,
        { flags: "--name <name>", description: "name of the unit", default: "millrace" },
        { flags: "--port <port>", description: "port to listen on" },
        { flags: "--drain <time>", description: "let runs end before a stop, for at most this time: 60s, 5m (default: 0s)" },
        { flags: "--system", description: "write a unit of the system, with its home in /var/lib/NAME" },
        { flags: "--user <user>", description: "user that a unit of the system runs as (default: millrace)" },
        { flags: "--dry-run", description: "print the unit and write nothing" },
        { flags: "--overwrite", description: "replace a unit of that name" },
      ],
      run: async ([dir = "."], options: ServiceOptions) => (await import("./service.ts")).installService(dir, options),
    },
  ],
};

export const HOME_COMMANDS: readonly CommandSpec[] = [STATUS, STOP, DOCTOR, BACKUP, RESTORE, EXPORT, SERVICE];
