/** `millrace engine`: the engine parses its own command line; this command only passes the arguments on. */
import type { CommandSpec } from "../command-spec.ts";

export const ENGINE: CommandSpec = {
  name: "engine",
  description: "run an engine process by hand (--module FILE --source-dir DIR --server URL)",
  raw: true,
  async run(args) {
    const { startEngine } = await import("./engine.ts");
    return await startEngine(args);
  },
};
