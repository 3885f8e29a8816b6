/** `millrace flows` and its options. */
import { type CommandSpec, WATCH } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { ViewOptions } from "../terminal/view.ts";
import type { FlowListOptions } from "./flows.ts";

const FLOW = { name: "<flow>", description: "name of the flow, or PROJECT/FLOW" };

const LS: CommandSpec = {
  name: "ls",
  description: "list flows with their last runs and their next one",
  connects: true,
  options: [{ flags: "--project <name>", description: "only of this project" }, WATCH],
  async run(_args, options: FlowListOptions) {
    return await (await import("./flows.ts")).listFlows(options);
  },
};

const SHOW: CommandSpec = {
  name: "show",
  description: "show a flow: parameters, options, schedules, last runs",
  connects: true,
  arguments: [FLOW],
  options: [WATCH],
  async run([flow = ""], options: ViewOptions) {
    return await (await import("./flows.ts")).showFlow(flow, options);
  },
};

const RM: CommandSpec = {
  name: "rm",
  description: "remove a flow that is not served any more, with its runs and schedules",
  connects: true,
  arguments: [FLOW],
  async run([flow = ""], options: ConnectionOptions) {
    return await (await import("./flows.ts")).removeFlow(flow, options);
  },
};

export const FLOWS: CommandSpec = {
  name: "flows",
  description: "look at flows",
  commands: [LS, SHOW, RM],
};
