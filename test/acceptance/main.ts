/**
 * `npm run check:execution`: packs the package, installs it in an empty folder, and runs many runs in its engines. `-- --full`
 * checks the promises at full size, with their times, which needs a machine that does nothing else; `-- TEXT` selects scenarios
 * by their name. Exit code 0 if all is as promised.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installPresent } from "../../scripts/packed-package.ts";
import { acceptExecution } from "./acceptance.ts";
import { FULL, SHORT } from "./sizes.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { full: { type: "boolean" } } });
const folder = mkdtempSync(join(tmpdir(), "millrace-execution-"));
try {
  installPresent(folder);
  const failures = await acceptExecution(folder, values.full ? FULL : SHORT, positionals[0]);
  process.stdout.write(failures.length === 0 ? "Everything is as promised.\n" : `${failures.length} promises are not kept.\n`);
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
