/** `millrace run` and its options. */
import type { CommandSpec } from "../command-spec.ts";
import type { RunOptions } from "./run.ts";

export const RUN: CommandSpec = {
  name: "run",
  description: "run a flow and follow it to its end",
  connects: true,
  arguments: [{ name: "<flow>", description: "FILE:FLOW, FILE with a single flow, or the name of a flow the server knows" }],
  options: [
    { flags: "-p, --param <key=value>", description: "a parameter; repeat for more", repeats: true },
    { flags: "--name <name>", description: "name of the run" },
    { flags: "--tag <tag>", description: "a tag; repeat for more", repeats: true },
    {
      flags: "--each <file>",
      description: "create a run for each line of a file, a JSON object of parameters, and follow none; - is standard input",
    },
    { flags: "-d, --detach", description: "do not follow the run; the server continues it" },
    { flags: "-q, --quiet", description: "print nothing but errors" },
  ],
  async run([target = ""], options: RunOptions) {
    const { run } = await import("./run.ts");
    return await run(target, options);
  },
};
