/** `millrace import` and its options. */
import type { CommandSpec } from "../command-spec.ts";
import type { TransferOptions } from "../home/transfer.ts";
import type { ImportCrontabOptions } from "./import-crontab.ts";

export const IMPORT: CommandSpec = {
  name: "import",
  description: "make a store of a file of `millrace export`, or import what other schedulers run; the server must not run",
  arguments: [{ name: "<file>", description: "made by `millrace export`; an import that was interrupted goes on" }],
  options: [
    {
      flags: "--store <url>",
      description:
        "an empty database of PostgreSQL (default: MILLRACE_STORE, [store] url in millrace.toml, else the store of the home)",
    },
    { flags: "--home <dir>", description: "data directory (default: MILLRACE_HOME or ~/.millrace)" },
    { flags: "--json", description: "print data as JSON" },
  ],
  run: async ([file = ""], options: TransferOptions) => (await import("../home/transfer.ts")).importFrom(file, options),
  commands: [
    {
      name: "crontab",
      description: "add the rows of a crontab to millrace.toml as jobs, and name each row that cannot be imported",
      arguments: [{ name: "[file]", description: "a crontab; - reads the standard input (default: that of `crontab -l`)" }],
      options: [
        {
          flags: "--to <dir>",
          description: "served directory, whose millrace.toml gets the jobs (default: ., or flows if only that has one)",
        },
        { flags: "--dry-run", description: "print the jobs and write nothing" },
        { flags: "--system", description: "each row names a user (default for /etc/crontab and files in cron.d)" },
        { flags: "--user <name>", description: "user whose rows of a system crontab are imported (default: you)" },
        { flags: "--json", description: "print JSON" },
      ],
      run: async ([file], options) => (await import("./import-crontab.ts")).importCrontab(file, options as ImportCrontabOptions),
    },
  ],
};
