/** `millrace init`, `millrace check` and `millrace completion`, and their options. */
import type { CommandSpec } from "../command-spec.ts";
import type { CheckOptions } from "./check.ts";
import type { InitOptions } from "./init.ts";

const INIT: CommandSpec = {
  name: "init",
  description: "make a folder with a first flow, its test and its settings",
  arguments: [{ name: "[dir]", description: "the folder", default: "." }],
  options: [{ flags: "--template <name>", description: "first, etl, agent, api or commands", default: "first" }],
  run: async ([dir = "."], options) => (await import("./init.ts")).init(dir, options as InitOptions),
};

const CHECK: CommandSpec = {
  name: "check",
  description: "check the flows, schedules, rules, jobs and settings of a directory; exit code 1 if something cannot be used",
  arguments: [{ name: "[dir]", description: "directory with flow files and millrace.toml", default: "." }],
  options: [
    { flags: "--strict", description: "exit code 1 for warnings too" },
    { flags: "--json", description: "print JSON" },
  ],
  run: async ([dir = "."], options) => (await import("./check.ts")).check(dir, options as CheckOptions),
};

const COMPLETION: CommandSpec = {
  name: "completion",
  description: "print the completion of the command line for a shell",
  arguments: [{ name: "<shell>", description: "bash, zsh or fish" }],
  run: async ([shell = ""]) => (await import("./completion.ts")).completion(shell),
};

export const PROJECT_COMMANDS: readonly CommandSpec[] = [INIT, CHECK, COMPLETION];
