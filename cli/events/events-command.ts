/** `millrace events` and its options. */
import type { CommandSpec } from "../command-spec.ts";
import type { TailOptions } from "./event-tail.ts";

const TAIL: CommandSpec = {
  name: "tail",
  description: "print the newest events, then each new one",
  connects: true,
  options: [
    { flags: "--name <name>", description: "only of this name, or of a prefix that ends in *" },
    { flags: "--run <id>", description: "only about this run" },
    { flags: "--flow <flow>", description: "only about FLOW or PROJECT/FLOW" },
    { flags: "-n, --lines <n>", description: "how many of the newest", default: "10" },
    { flags: "--no-follow", description: "end after those" },
  ],
  async run(_args, options: TailOptions) {
    const { tailEvents } = await import("./event-tail.ts");
    return await tailEvents(options);
  },
};

export const EVENTS: CommandSpec = { name: "events", description: "look at what happened", commands: [TAIL] };
