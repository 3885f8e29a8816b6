import { createRequire } from "node:module";
import t from "tap";
import { PRODUCT_FOLDERS, readText } from "./sources.ts";

interface PackageFile {
  version: string;
  engines: { node: string };
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  imports: Record<string, Record<string, string>>;
  exports: Record<string, Record<string, string> | string>;
  scripts: Record<string, string>;
}
interface LockFile {
  version: string;
  packages: Record<string, Record<string, unknown>>;
}

const settings = JSON.parse(readText("package.json")) as PackageFile;
const lock = JSON.parse(readText("package-lock.json")) as LockFile;
const siteLock = JSON.parse(readText("docs/site/package-lock.json")) as LockFile;

t.test("the lock files install anywhere", async (t) => {
  const driver = lock.packages["node_modules/better-sqlite3"];
  // Otherwise npm 10 runs node-gyp for a package with prebuilt binaries, and fails without Python.
  t.equal(driver?.["gypfile"], false, "better-sqlite3 keeps gypfile: false");
  for (const [name, entry] of [lock, siteLock].flatMap(({ packages }) => Object.entries(packages))) {
    // A resolved address would bind all users to the registry of one machine.
    if ("resolved" in entry) t.fail(`${name} has an address`);
    if (name !== "" && entry["link"] !== true && typeof entry["integrity"] !== "string") t.fail(`${name} has no integrity hash`);
  }
  t.equal(lock.version, settings.version);
});

t.test("the generator of the site stays apart from the packages of Millrace", async (t) => {
  t.ok(siteLock.packages["node_modules/vitepress"]);
  t.notOk(lock.packages["node_modules/vitepress"]);
});

t.test("an installation of the package runs no script of it, and npm warns of none", async (t) => {
  // npm reports `prepare` too when the package is installed from a file.
  for (const name of ["preinstall", "install", "postinstall", "prepare"]) t.notOk(settings.scripts[name], name);
  for (const name of Object.keys(settings.dependencies))
    t.notOk(lock.packages[`node_modules/${name}`]?.["hasInstallScript"], `${name} runs none either`);
});

t.test("the binaries of third parties are pinned to the letter", async (t) => {
  t.match(settings.devDependencies["uWebSockets.js"], /^npm:uws-pack@\d+\.\d+\.\d+$/);
  t.match(settings.devDependencies["better-sqlite3"], /^\d+\.\d+\.\d+$/);
});

t.test("every dependency runs on each Node that the package says it runs on", async (t) => {
  const semver = createRequire(import.meta.url)("semver") as { subset(inner: string, outer: string): boolean };
  const needed = Object.entries(lock.packages).flatMap(([name, { dev, engines }]) => {
    const range = name === "" || dev === true ? undefined : (engines as { node?: string } | undefined)?.node;
    return range === undefined ? [] : [{ name, range }];
  });
  t.ok(needed.length > 3, "dependencies say what they need");
  for (const { name, range } of needed) t.ok(semver.subset(settings.engines.node, range), `${name} needs Node ${range}`);
});

t.test("sources and build are reached under the same names", async (t) => {
  for (const folder of PRODUCT_FOLDERS) {
    t.same(settings.imports[`#${folder}/*`], { "millrace-src": `./${folder}/*.ts`, default: `./dist/${folder}/*.js` });
  }
  for (const [name, target] of Object.entries(settings.exports)) {
    if (typeof target === "string") continue;
    t.equal(Object.keys(target)[0], "millrace-src", `${name}: the first condition that matches is taken`);
    const source = target["millrace-src"]?.replace(/^\.\//, "./dist/").replace(/\.ts$/, ".js");
    t.equal(target["default"], source, name);
  }
});

t.test("the quick start's commands exist", async (t) => {
  const readme = readText("README.md");
  for (const script of ["demo", "test"]) t.ok(script in settings.scripts, script);
  t.match(readme, /npm ci && npm run demo/);
  t.match(readme, /npm ci && npm test/);
});
