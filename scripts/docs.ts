/** `npm run docs`: writes docs/reference/ from the code, the code of examples/ into the guides, and llms.txt. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { allPages, ROOT } from "./docs/pages.ts";

for (const [path, text] of allPages()) {
  const file = `${ROOT}${path}`;
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(`${path}\n`);
}
