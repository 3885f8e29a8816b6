/** `millrace runs` and its options. */
import type { CommandSpec } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { LogOptions } from "../logs.ts";
import type { ListOptions } from "../runs.ts";

const ID = { name: "<id>", description: "id of the run" };

const LS: CommandSpec = {
  name: "ls",
  description: "list runs, newest first",
  connects: true,
  options: [
    { flags: "--flow <name>", description: "only runs of this flow" },
    { flags: "--project <name>", description: "only runs of this project" },
    { flags: "--state <state>", description: "only runs in this state or sub-state" },
    { flags: "--limit <n>", description: "how many", default: "20" },
  ],
  async run(_args, options: ListOptions) {
    const { listRuns } = await import("../runs.ts");
    return await listRuns(options);
  },
};

const SHOW: CommandSpec = {
  name: "show",
  description: "show a run, its tasks and artifacts",
  connects: true,
  arguments: [ID],
  async run([id = ""], options: ConnectionOptions) {
    const { showRun } = await import("../run-details.ts");
    return await showRun(id, options);
  },
};

const LOGS: CommandSpec = {
  name: "logs",
  description: "print the log of a run",
  connects: true,
  arguments: [ID],
  options: [
    { flags: "-f, --follow", description: "go on until the run has ended" },
    { flags: "--level <level>", description: "lowest level: DEBUG, INFO, WARNING, ERROR, CRITICAL or a number" },
    { flags: "--search <text>", description: "only lines with this text" },
  ],
  async run([id = ""], options: LogOptions) {
    const { printLogs } = await import("../logs.ts");
    return await printLogs(id, options);
  },
};

export const RUNS: CommandSpec = { name: "runs", description: "look at runs", commands: [LS, SHOW, LOGS] };
