/** `millrace runs` and its options. */
import { type CommandSpec, WATCH } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { ViewOptions } from "../terminal/view.ts";
import type { CancelOptions, RemoveOptions, RetryOptions } from "./run-actions.ts";
import type { ExplainOptions } from "./run-explanation.ts";
import type { InputOptions } from "./run-input.ts";
import type { LogOptions } from "./run-logs.ts";
import type { RunListOptions } from "./runs.ts";

const ID = { name: "<id>", description: "id of the run" };
const IDS = { name: "<id...>", description: "ids of runs" };

const LS: CommandSpec = {
  name: "ls",
  description: "list runs: those under way, then the ended ones, newest first, then those that are due later",
  connects: true,
  options: [
    { flags: "--flow <name>", description: "only runs of this flow" },
    { flags: "--project <name>", description: "only runs of this project" },
    { flags: "--state <state>", description: "only runs in this state or sub-state" },
    { flags: "-p, --param <key=value>", description: "only runs with this parameter; repeat for more", repeats: true },
    { flags: "--limit <n>", description: "how many", default: "20" },
    WATCH,
  ],
  async run(_args, options: RunListOptions) {
    const { listRuns } = await import("./runs.ts");
    return await listRuns(options);
  },
};

const SHOW: CommandSpec = {
  name: "show",
  description: "show a run, its tasks and artifacts",
  connects: true,
  arguments: [ID],
  options: [WATCH],
  async run([id = ""], options: ViewOptions) {
    const { showRun } = await import("./run-details.ts");
    return await showRun(id, options);
  },
};

const TIMING: CommandSpec = {
  name: "timing",
  description: "show the stages of a run, and how long it was in each",
  connects: true,
  arguments: [ID],
  options: [WATCH],
  async run([id = ""], options: ViewOptions) {
    return await (await import("./run-timing.ts")).showTiming(id, options);
  },
};

const EXPLAIN: CommandSpec = {
  name: "explain",
  description: "why a run waits, and what it waited for before",
  connects: true,
  arguments: [ID],
  options: [{ flags: "--at <time>", description: "only what it waited for then, such as 2026-01-31T06:00:00Z" }],
  async run([id = ""], options: ExplainOptions) {
    return await (await import("./run-explanation.ts")).explainRun(id, options);
  },
};

const LOGS: CommandSpec = {
  name: "logs",
  description: "print the log of a run",
  connects: true,
  arguments: [ID],
  options: [
    { flags: "-f, --follow", description: "keep printing until the run has ended" },
    { flags: "--level <level>", description: "lowest level: DEBUG, INFO, WARNING, ERROR, CRITICAL or a number" },
    { flags: "--search <text>", description: "only lines with this text" },
  ],
  async run([id = ""], options: LogOptions) {
    const { printLogs } = await import("./run-logs.ts");
    return await printLogs(id, options);
  },
};

const RETRY: CommandSpec = {
  name: "retry",
  description: "run an ended run again, with the same parameters; a durable run continues where it failed",
  connects: true,
  arguments: [ID],
  options: [
    { flags: "--from <where>", description: "start, failure, or the key of a task of the run, such as add-0" },
    { flags: "-f, --follow", description: "follow the new run to its end" },
  ],
  async run([id = ""], options: RetryOptions) {
    return await (await import("./run-actions.ts")).retryRun(id, options);
  },
};

const CANCEL: CommandSpec = {
  name: "cancel",
  description: "cancel runs, by their ids or all that filters find",
  connects: true,
  arguments: [{ name: "[id...]", description: "ids of runs" }],
  options: [
    { flags: "--flow <name>", description: "all runs of this flow that have not ended" },
    { flags: "--project <name>", description: "all runs of this project that have not ended" },
    { flags: "--state <state>", description: "all runs in this state or sub-state" },
  ],
  async run(ids, options: CancelOptions) {
    return await (await import("./run-actions.ts")).cancelRuns(ids, options);
  },
};

const PAUSE: CommandSpec = {
  name: "pause",
  description: "stop a running run; when it is resumed, the run starts from its beginning",
  connects: true,
  arguments: [ID],
  async run([id = ""], options: ConnectionOptions) {
    return await (await import("./run-actions.ts")).pauseRun(id, options);
  },
};

const RESUME: CommandSpec = {
  name: "resume",
  description: "continue a run that was paused by hand",
  connects: true,
  arguments: [ID],
  async run([id = ""], options: ConnectionOptions) {
    return await (await import("./run-actions.ts")).resumeRun(id, options);
  },
};

const WAKE: CommandSpec = {
  name: "wake",
  description: "end the sleep, or the delay before the next attempt, of a run now",
  connects: true,
  arguments: [ID],
  async run([id = ""], options: ConnectionOptions) {
    return await (await import("./run-actions.ts")).wakeRun(id, options);
  },
};

const INPUT: CommandSpec = {
  name: "input",
  description: "answer the question of a paused run, or show it",
  connects: true,
  arguments: [ID, { name: "[answer]", description: "JSON, or a text; asked for on a terminal" }],
  options: [{ flags: "--text", description: "take the answer as a text, also where it could be JSON" }],
  async run([id = "", answer], options: InputOptions) {
    return await (await import("./run-input.ts")).inputRun(id, answer, options);
  },
};

const RM: CommandSpec = {
  name: "rm",
  description: "remove ended runs with their logs and artifacts",
  connects: true,
  arguments: [IDS],
  options: [{ flags: "--force", description: "also those that have not ended" }],
  async run(ids, options: RemoveOptions) {
    return await (await import("./run-actions.ts")).removeRuns(ids, options);
  },
};

export const RUNS: CommandSpec = {
  name: "runs",
  description: "look at runs, stop them, answer them, run them again",
  commands: [LS, SHOW, TIMING, EXPLAIN, LOGS, RETRY, CANCEL, PAUSE, RESUME, WAKE, INPUT, RM],
};
