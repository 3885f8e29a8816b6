/**
 * `npm run check:ordinary`: packs the package, installs it in an empty folder, and disturbs its server and its engines while runs
 * of ordinary flows are under way: with SIGKILL and SIGSTOP, by edits of their code and by people. `-- --rounds N` says how
 * often (2), `--seed N` with which random numbers (1), and `--only described`, `created`, `moved` or `reactions` what. Exit
 * code 0 if all is as promised.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installPresent } from "../../../scripts/packed-package.ts";
import { Check } from "../check.ts";
import { acceptCreated } from "./created-runs.ts";
import { acceptDescribed } from "./described-runs.ts";
import { acceptMoved } from "./moved-runs.ts";
import { acceptReactions } from "./reactions.ts";

const SCENARIOS = { described: acceptDescribed, created: acceptCreated, moved: acceptMoved, reactions: acceptReactions };

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "millrace-ordinary-"));
const check = new Check();
try {
  installPresent(folder);
  cpSync(join(import.meta.dirname, "../ordinary-flows"), join(folder, "flows"), { recursive: true });
  for (let round = 0; round < Number(values.rounds); round += 1)
    for (const [name, accept] of Object.entries(SCENARIOS))
      if (name.includes(values.only)) await accept(folder, Number(values.seed) + round, check);
  const { length } = check.failures;
  process.stdout.write(length === 0 ? "Everything is as promised.\n" : `${length} promises are not kept.\n`);
  process.exitCode = length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
