#!/usr/bin/env node
/**
 * The command line. Each command loads its own code only, so that the short ones start fast;
 * for the same reason Node keeps the compiled code between starts, which has to be asked for before anything is loaded.
 */

import { enableCompileCache } from "node:module";

enableCompileCache();
const { runCommandLine } = await import("./program.ts");
process.exitCode = await runCommandLine(process.argv.slice(2));
