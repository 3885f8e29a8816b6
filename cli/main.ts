#!/usr/bin/env node
/** The command line. Each command loads only its own code, so that short commands start fast. */

import { EXIT } from "./exit-code.ts";
import { nodeRefusal } from "./node-version.ts";

/** Time for open answers and connections to end by themselves. */
const LINGER_MS = 500;

const refusal = nodeRefusal(process.versions.node);
if (refusal === null) {
  const { runCommandLine } = await import("./program.ts");
  process.exitCode = await runCommandLine(process.argv.slice(2));
  // Open handles must not delay the exit: a timer in a user's module, a thread of a server that could not start.
  setTimeout(() => process.exit(), LINGER_MS).unref();
} else {
  process.stderr.write(`millrace: ${refusal}\n`);
  process.exitCode = EXIT.usage;
}
