/** `millrace logs` and its options. */

import type { CommandSpec } from "../command-spec.ts";
import type { LogSearchOptions } from "./search-logs.ts";

export const LOGS: CommandSpec = {
  name: "logs",
  description: "search the logs of all runs, newest line first (runs logs prints the log of one run)",
  connects: true,
  options: [
    { flags: "--search <text>", description: "only lines with this text" },
    { flags: "--level <level>", description: "lowest level: DEBUG, INFO, WARNING, ERROR, CRITICAL or a number" },
    { flags: "--flow <name>", description: "only runs of this flow" },
    { flags: "--project <name>", description: "only runs of this project" },
    { flags: "--limit <n>", description: "how many lines", default: "100" },
  ],
  async run(_args, options: LogSearchOptions) {
    return await (await import("./search-logs.ts")).searchLogs(options);
  },
};
