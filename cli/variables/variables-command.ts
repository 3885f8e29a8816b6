/** `millrace variables` and its options. */
import { type CommandSpec, WATCH } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { ViewOptions } from "../terminal/view.ts";
import type { GetOptions, SetOptions } from "./variables.ts";

const NAME = { name: "<name>", description: "name of the variable" };

const LS: CommandSpec = {
  name: "ls",
  description: "list variables; secrets are masked",
  connects: true,
  options: [WATCH],
  async run(_args, options: ViewOptions) {
    return await (await import("./variables.ts")).listVariables(options);
  },
};

const GET: CommandSpec = {
  name: "get",
  description: "print the value of a variable",
  connects: true,
  arguments: [NAME],
  options: [{ flags: "--reveal", description: "show a secret, with the key of this machine's data directory" }],
  async run([name = ""], options: GetOptions) {
    return await (await import("./variables.ts")).getVariable(name, options);
  },
};

const SET: CommandSpec = {
  name: "set",
  description: "make or replace a variable",
  connects: true,
  arguments: [NAME, { name: "<value>", description: "JSON, or a text; - reads it from standard input" }],
  options: [
    { flags: "--secret", description: "encrypt it at rest and mask it everywhere" },
    { flags: "--plain", description: "no longer a secret: the value is stored and shown as it is" },
    { flags: "--text", description: "take the value as a text, also where it could be JSON" },
    { flags: "--tag <tag>", description: "a tag; repeat for more", repeats: true },
    { flags: "--no-overwrite", description: "fail if there is one of this name" },
  ],
  async run([name = "", value = ""], options: SetOptions) {
    return await (await import("./variables.ts")).setVariable(name, value, options);
  },
};

const RM: CommandSpec = {
  name: "rm",
  description: "remove variables",
  connects: true,
  arguments: [{ name: "<name...>", description: "names of variables" }],
  async run(names, options: ConnectionOptions) {
    return await (await import("./variables.ts")).removeVariables(names, options);
  },
};

export const VARIABLES: CommandSpec = {
  name: "variables",
  description: "values that flows share, secret ones too",
  commands: [LS, GET, SET, RM],
};
