/** Every script of scripts/ prints the trace that it contains. UPDATE=1 writes the current output. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { runScript } from "./script.ts";

const SCRIPTS = new URL("./scripts/", import.meta.url);

for (const name of readdirSync(SCRIPTS).sort()) {
  t.test(name, async (t) => {
    const file = new URL(name, SCRIPTS);
    const text = readFileSync(file, "utf8");
    const printed = runScript(text);
    if (process.env["UPDATE"] === "1") writeFileSync(file, printed);
    else t.equal(printed, text);
  });
}
