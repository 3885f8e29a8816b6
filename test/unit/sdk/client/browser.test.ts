import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

const CLIENT = fileURLToPath(new URL("../../../../sdk/client", import.meta.url));
const PROTOCOL = fileURLToPath(new URL("../../../../protocol", import.meta.url));
const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/.*$/gm;
/** The only file that may use Node: it is imported only when Node runs. */
const NODE_ONLY = "local-server.ts";

/** True for a protocol module that imports no values and uses nothing of Node. */
function loadsNothing(module: string): boolean {
  if (!module.startsWith("#protocol/")) return false;
  const source = readFileSync(join(PROTOCOL, `${module.slice("#protocol/".length)}.ts`), "utf8");
  return (
    !/^(?:import|export) (?!type )[^;]*?from "/m.test(source) &&
    !/\bBuffer\b|\bprocess\b|\brequire\(/.test(source.replace(COMMENTS, ""))
  );
}

t.test("outside its Node part the client loads nothing that a browser does not have", async (t) => {
  for (const file of readdirSync(CLIENT).filter((name) => name.endsWith(".ts") && name !== NODE_ONLY)) {
    const source = readFileSync(join(CLIENT, file), "utf8");
    for (const [statement, type, from = ""] of source.matchAll(/^(?:import|export) (type )?[^;]*?from "([^"]+)";$/gms)) {
      t.ok(type !== undefined || from.startsWith("./") || loadsNothing(from), `${file}: ${statement}`);
      t.not(from, `./${NODE_ONLY}`, `${file} loads the Node part only when it is needed`);
    }
    t.notMatch(source, /\bBuffer\b|\brequire\(/, file);
  }
});
