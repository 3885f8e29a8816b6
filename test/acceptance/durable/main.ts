/**
 * `npm run check:durable`: packs the package, installs it in an empty folder, and kills its server and its engines with SIGKILL
 * while durable runs are under way. `-- --kills N` says how often (20), `--programs N` how many rounds of flows of random shape are
 * executed (2), and `--seed N` which ones (1). Exit code 0 if all is as promised.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installPresent } from "../../../scripts/packed-package.ts";
import { Check } from "../check.ts";
import { acceptExamples } from "./examples.ts";
import { acceptKills } from "./kills.ts";
import { acceptNesting } from "./nesting.ts";
import { acceptPrograms } from "./programs.ts";

/** Of the guide on durable runs. */
const EXAMPLES = ["order.ts", "agent.ts"];

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "20" },
    programs: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "millrace-durable-"));
const check = new Check();
try {
  installPresent(folder);
  cpSync(join(import.meta.dirname, "../durable-flows"), join(folder, "flows"), { recursive: true });
  for (const example of EXAMPLES)
    cpSync(join(folder, "node_modules/millrace/examples/guides", example), join(folder, "flows", example));
  await acceptNesting(folder, check);
  await acceptExamples(folder, check);
  await acceptKills(folder, Number(values.kills), check);
  for (let round = 0; round < Number(values.programs); round += 1)
    await acceptPrograms(folder, Number(values.seed) + round, check);
  const { length } = check.failures;
  process.stdout.write(length === 0 ? "Everything is as promised.\n" : `${length} promises are not kept.\n`);
  process.exitCode = length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
