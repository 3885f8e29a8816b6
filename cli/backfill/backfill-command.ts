/** `millrace backfill` and its options. */

import type { CommandSpec } from "../command-spec.ts";
import type { BackfillOptions } from "./backfill.ts";

export const BACKFILL: CommandSpec = {
  name: "backfill",
  description: "create one run per value of a date or datetime parameter",
  connects: true,
  arguments: [{ name: "<flow>", description: "FLOW or PROJECT/FLOW, as the server knows it" }],
  options: [
    { flags: "--param <name>", description: "the parameter that takes the values", required: true },
    { flags: "--start <value>", description: "first value: a date or an RFC 3339 time", required: true },
    { flags: "--end <value>", description: "last value, included", required: true },
    { flags: "--interval <step>", description: "seconds, or 30m, 12h, 1d, 1w", default: "1d" },
    { flags: "--concurrency <n>", description: "how many of its runs execute at once", default: "1" },
    { flags: "--reverse", description: "newest value first" },
    { flags: "--extra <key=value>", description: "a parameter that every run gets; repeat for more", repeats: true },
    { flags: "--dry-run", description: "say what would be created, and create nothing" },
  ],
  async run([target = ""], options: BackfillOptions) {
    const { backfill } = await import("./backfill.ts");
    return await backfill(target, options);
  },
};
