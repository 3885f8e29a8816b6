/**
 * `npm run docs:site`: builds the documents as a site in dist/docs-site. VitePress and its packages are installed beside
 * the copied documents, apart from the packages of Millrace. Exit code 1 if a link leads nowhere, or a document has no page or cannot be searched.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ROOT } from "./docs/pages.ts";
import { faultsOfSite } from "./docs/site-faults.ts";

const SITE = join(ROOT, "docs/site");
const STAGED = join(ROOT, "dist/docs-pages");
const OUTPUT = join(ROOT, "dist/docs-site");
/** Documents, and what they show or link to. VitePress takes pages from one folder only. */
const STAGED_PATHS = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "llms.txt",
  "docs",
  "examples",
  ...["actors", "dashboard", "gateway", "runtime", "storage", "test/load", "test/sim"].map((folder) => `${folder}/README.md`),
];

function npm(...args: string[]): void {
  execFileSync("npm", args, { cwd: STAGED, stdio: "inherit" });
}

/** A page for links to a folder. */
function listFiles(folder: string): void {
  const entries = readdirSync(join(STAGED, folder), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => relative(join(STAGED, folder), join(entry.parentPath, entry.name)));
  const links = paths.sort().map((path) => `- <a href="./${path}" target="_blank">${path}</a>\n`);
  writeFileSync(join(STAGED, folder, "index.md"), `# ${folder}\n\n${links.join("")}`);
}

/** Copies the documents into one folder, and returns their paths in it. */
function stage(): string[] {
  rmSync(STAGED, { recursive: true, force: true });
  const isPart = (source: string) => source !== SITE && !source.includes("__pycache__");
  for (const path of STAGED_PATHS) {
    mkdirSync(dirname(join(STAGED, path)), { recursive: true });
    cpSync(join(ROOT, path), join(STAGED, path), { recursive: true, filter: isPart });
  }
  listFiles("examples/container");
  // Only a page with this ending and a heading is found.
  const license = "LICENSE";
  writeFileSync(join(STAGED, `${license}.md`), `# License\n\n${readFileSync(join(ROOT, license), "utf8")}`);
  return readdirSync(STAGED, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md"));
}

const documents = stage();
mkdirSync(join(STAGED, ".vitepress"));
cpSync(join(SITE, "config.ts"), join(STAGED, ".vitepress/config.ts"));
for (const file of ["package.json", "package-lock.json"]) cpSync(join(SITE, file), join(STAGED, file));
npm("ci", "--ignore-scripts", "--no-audit", "--no-fund");
process.env["MILLRACE_SITE_PAGES"] = STAGED;
npm("exec", "--", "vitepress", "build", STAGED, "--outDir", OUTPUT);
for (const path of ["llms.txt", "docs", "examples"])
  cpSync(join(STAGED, path), join(OUTPUT, path), { recursive: true, filter: (source) => !source.endsWith(".md") });
const faults = faultsOfSite(OUTPUT, documents);
const shown = faults.length === 0 ? `${documents.length} pages in ${OUTPUT}` : faults.join("\n");
process.stdout.write(`${shown}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
