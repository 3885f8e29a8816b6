/** `millrace rules` and its options. */
import { type CommandSpec, WATCH } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { ViewOptions } from "../terminal/view.ts";

const RULE = { name: "<rule>", description: "id or name of the rule" };

const LS: CommandSpec = {
  name: "ls",
  description: "list rules",
  connects: true,
  options: [WATCH],
  async run(_args, options: ViewOptions) {
    return await (await import("./rules.ts")).listRules(options);
  },
};

const SHOW: CommandSpec = {
  name: "show",
  description: "show a rule, how it fired lately and what it waits for",
  connects: true,
  arguments: [RULE],
  options: [WATCH],
  async run([rule = ""], options: ViewOptions) {
    return await (await import("./rules.ts")).showRule(rule, options);
  },
};

const TEST: CommandSpec = {
  name: "test",
  description: "render the actions of a rule against the latest event it matches; nothing is done",
  connects: true,
  arguments: [RULE],
  async run([rule = ""], options: ConnectionOptions) {
    return await (await import("./rules.ts")).testRule(rule, options);
  },
};

const ENABLE: CommandSpec = {
  name: "enable",
  description: "switch a rule on",
  connects: true,
  arguments: [RULE],
  async run([rule = ""], options: ConnectionOptions) {
    return await (await import("./rules.ts")).switchRule(rule, true, options);
  },
};

const DISABLE: CommandSpec = {
  name: "disable",
  description: "switch a rule off",
  connects: true,
  arguments: [RULE],
  async run([rule = ""], options: ConnectionOptions) {
    return await (await import("./rules.ts")).switchRule(rule, false, options);
  },
};

export const RULES: CommandSpec = {
  name: "rules",
  description: "look at rules, try them, switch them",
  commands: [LS, SHOW, TEST, ENABLE, DISABLE],
};
