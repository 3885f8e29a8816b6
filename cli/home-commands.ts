/** The commands that look after a server and its home: status, stop, doctor, backup, restore, service. */
import type { AddCommand } from "./program.ts";

export const addHomeCommands: AddCommand = (program, finish) => {
  program
    .command("status")
    .description("tell whether a server runs, and how it does")
    .option("--home <dir>", "data directory of the server")
    .option("--token <token>", "token of the server")
    .option("--url <url>", "address of the server")
    .option("--json", "print data as JSON")
    .action(async (_options: unknown, command) => finish(await (await import("./status.ts")).status(command.optsWithGlobals())));
  program
    .command("stop")
    .description("stop the server of this machine in order and wait for its end")
    .option("--home <dir>", "data directory of the server")
    .option("--timeout <seconds>", "how long to wait", "30")
    .option("--json", "print data as JSON")
    .action(async (_options: unknown, command) => finish(await (await import("./stop.ts")).stop(command.optsWithGlobals())));
  program
    .command("doctor")
    .description("check a home and everything in its store; changes nothing")
    .option("--home <dir>", "data directory (default: MILLRACE_HOME or ~/.millrace)")
    .option("--token <token>", "token of the server, if one runs")
    .option("--json", "print data as JSON")
    .action(async (_options: unknown, command) => finish(await (await import("./doctor.ts")).doctor(command.optsWithGlobals())));
  program
    .command("backup")
    .description("copy the store to one checked file, while the server goes on")
    .argument("<file>", "where to; it must not exist yet")
    .option("--home <dir>", "data directory (default: MILLRACE_HOME or ~/.millrace)")
    .option("--overwrite", "replace the file once the new backup is complete")
    .option("--json", "print data as JSON")
    .action(async (file: string, _options: unknown, command) =>
      finish(await (await import("./backup.ts")).backup(file, command.optsWithGlobals())),
    );
  program
    .command("restore")
    .description("put a backup in the place of the store; the server must not run")
    .argument("<file>", "a backup")
    .option("--home <dir>", "data directory (default: MILLRACE_HOME or ~/.millrace)")
    .option("--json", "print data as JSON")
    .action(async (file: string, _options: unknown, command) =>
      finish(await (await import("./backup.ts")).restore(file, command.optsWithGlobals())),
    );
  program
    .command("service")
    .description("run the server as a service of the system")
    .command("install")
    .description("write a systemd unit for the user's own services; it is printed first")
    .argument("[dir]", "directory with flow files and millrace.toml", ".")
    .option("--home <dir>", "data directory (default: MILLRACE_HOME or ~/.millrace)")
    .option("--name <name>", "name of the unit", "millrace")
    .option("--port <port>", "port to listen on")
    .option("--dry-run", "print the unit and write nothing")
    .option("--overwrite", "replace a unit of that name")
    .action(async (dir: string, _options: unknown, command) =>
      finish(await (await import("./service.ts")).installService(dir, command.optsWithGlobals())),
    );
};
