/** Packs the package, and installs it in a folder as users do. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureBuilt } from "./built.ts";
import { DASHBOARD_FOLDER, LIBRARIES_FOLDER, PACKAGED_FOLDERS, PREBUILDS_FOLDER } from "./package-contents.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function npm(folder: string, args: string[]): string {
  return execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 64 * 2 ** 20 });
}

/** Folders of dist/. */
const FOLDERS: ReadonlySet<string> = new Set([...PACKAGED_FOLDERS, DASHBOARD_FOLDER, LIBRARIES_FOLDER, PREBUILDS_FOLDER]);

interface Packed {
  filename: string;
  files: { path: string; mode: number }[];
}

/** Packs into a folder what is compiled of the present sources, with the dashboard. */
export function pack(into: string): string {
  ensureBuilt();
  npm(ROOT, ["run", "build:dashboard"]);
  const output = npm(ROOT, ["pack", "--json", "--ignore-scripts", "--pack-destination", into]);
  const parsed = JSON.parse(output) as Packed[] | Record<string, Packed>;
  const packed = Array.isArray(parsed) ? parsed[0] : Object.values(parsed)[0];
  if (packed === undefined) throw new Error("npm pack told of no package");
  checkContents(packed);
  checkLinks(packed.files.map(({ path }) => path));
  return join(into, packed.filename);
}

function checkContents({ files }: Packed): void {
  const paths = files.map(({ path }) => path);
  const wanted = [
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "package.json",
    "dist/cli/main.js",
    "dist/sdk/index.js",
    "dist/sdk/index.d.ts",
    `dist/${DASHBOARD_FOLDER}/index.html`,
    `dist/${LIBRARIES_FOLDER}/LICENSES.txt`,
  ];
  for (const path of wanted) if (!paths.includes(path)) throw new Error(`the package lacks ${path}`);
  for (const path of paths) {
    const folder = /^dist\/([^/]+)\//.exec(path)?.[1];
    const known =
      folder === undefined ? !path.startsWith("dist/") && /\.md$|^[^/]+$|^(docs|examples)\//.test(path) : FOLDERS.has(folder);
    if (!known || /\.(map|test\.js|sqlite|tgz)$/.test(path)) throw new Error(`the package should not hold ${path}`);
  }
}

/** Readers of the package have no repository: every link target has to be in the package. */
function checkLinks(paths: readonly string[]): void {
  for (const path of paths.filter((name) => name.endsWith(".md"))) {
    for (const [, link = ""] of readFileSync(join(ROOT, path), "utf8").matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const target = posix.join(posix.dirname(path), link);
      const known = paths.includes(target) || paths.some((name) => name.startsWith(`${target.replace(/\/$/, "")}/`));
      if (!known) throw new Error(`${path} links to ${link}, which the package does not hold`);
    }
  }
}

/** What an installation consists of. */
const INSTALLED = ["package.json", "package-lock.json", "node_modules"];

/** Installs the packed file in an otherwise empty folder. */
export function install(folder: string, packed: string): void {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "flows-of-a-user", private: true, type: "module" }));
  npm(folder, ["install", "--no-audit", "--no-fund", packed]);
}

/** Makes a second installation whose files are links to those of the first one. */
export function linkInstallation(from: string, to: string): void {
  execFileSync("cp", ["--archive", "--link", ...INSTALLED.map((name) => join(from, name)), to]);
}

/**
 * Installs the package of the present sources in an otherwise empty folder. MILLRACE_TEST_INSTALLED names a folder that has it, see
 * `npm run check:package`, whose files are linked instead.
 */
export function installPresent(folder: string): void {
  const { MILLRACE_TEST_INSTALLED: installed } = process.env;
  if (installed !== undefined) linkInstallation(installed, folder);
  else install(folder, pack(mkdtempSync(join(folder, "packed-"))));
}
