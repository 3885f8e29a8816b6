/**
 * Bundles libraries that consist of many small files into one file each, and makes the compiled modules import those. A
 * thread spends most of its start finding and reading files (typebox alone has 537), so the look-up of modules is shortened
 * as well.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { build, type Plugin, type Rolldown } from "vite";
import { LIBRARIES_FOLDER, PACKAGED_FOLDERS } from "./package-contents.ts";

interface Library {
  /** The bundled file. */
  file: string;
  /** Names used of a library that is not an ES module: only ES modules declare their exports. */
  names?: readonly string[];
}

/** By import name. */
const LIBRARIES: Readonly<Record<string, Library>> = {
  "better-sqlite3": { file: "better-sqlite3", names: ["default"] },
  "@opentelemetry/otlp-exporter-base/node-http": {
    file: "opentelemetry-exporter",
    names: ["convertLegacyHttpOptions", "createOtlpHttpExportDelegate"],
  },
  "@opentelemetry/otlp-transformer": { file: "opentelemetry-transformer", names: ["ProtobufTraceSerializer"] },
  "@opentelemetry/resources": {
    file: "opentelemetry-resources",
    names: ["detectResources", "envDetector", "resourceFromAttributes"],
  },
  comlink: { file: "comlink" },
  "comlink/dist/esm/node-adapter.mjs": { file: "comlink-node-adapter" },
  commander: { file: "commander", names: ["Command", "CommanderError"] },
  "cron-parser": { file: "cron-parser", names: ["CronExpressionParser"] },
  luxon: { file: "luxon" },
  "nunjucks/src/parser.js": { file: "nunjucks-parser", names: ["parse"] },
  pg: { file: "pg", names: ["default"] },
  pgpass: { file: "pgpass", names: ["default"] },
  "prom-client": { file: "prom-client", names: ["Counter", "Gauge", "Histogram", "Registry"] },
  "smol-toml": { file: "smol-toml" },
  typebox: { file: "typebox" },
  "typebox/compile": { file: "typebox-compile" },
  "typebox/schema": { file: "typebox-schema" },
  "uWebSockets.js": { file: "uwebsockets" },
  uuidv7: { file: "uuidv7" },
};

/** Marks, within the build, a module that exports `names` of a library. */
const NAMES_OF = "\0names-of:";

/** Imports in a compiled module. */
const IMPORT = /\b(from |import |import\()"([^".][^"]*)"/g;

/**
 * Node parses the nearest package.json for every module; parsing the package's own would take a fifth of the module's loading
 * time.
 */
const MODULES_ALONE = '{ "type": "module" }\n';

/** @param root of the repository; `out` holds the compiled modules */
export async function bundleLibraries(root: string, out: string): Promise<void> {
  const folder = join(out, LIBRARIES_FOLDER);
  copyLicenses(await writeBundles(root, folder), folder);
  writeFileSync(join(folder, "package.json"), MODULES_ALONE);
  for (const part of PACKAGED_FOLDERS) {
    for (const path of globSync(`${part}/**/*.js`, { cwd: out })) importRelatively(out, path);
    writeFileSync(join(out, part, "package.json"), MODULES_ALONE);
  }
}

/** Returns the paths of all modules that went into the bundles. */
async function writeBundles(root: string, outDir: string): Promise<string[]> {
  const { resolve } = createRequire(join(root, "package.json"));
  const result = (await build({
    root,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    plugins: [exportedNames()],
    ssr: { noExternal: true },
    // better-sqlite3 searches for its binaries from its own folder.
    define: { __dirname: "import.meta.dirname" },
    // cron-parser requests the CommonJS form of luxon; one of the two forms is enough.
    resolve: { alias: { luxon: join(dirname(resolve("luxon/package.json")), "build/es6/luxon.mjs") } },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: "node22",
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(
          Object.entries(LIBRARIES).map(([name, { file, names }]) => [file, names ? NAMES_OF + name : name]),
        ),
        preserveEntrySignatures: "strict",
        output: { format: "es", entryFileNames: "[name].js", chunkFileNames: "[name].js" },
      },
    },
  })) as Rolldown.RolldownOutput;
  return result.output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
}

function exportedNames(): Plugin {
  return {
    name: "exported-names",
    resolveId: (id) => (id.startsWith(NAMES_OF) ? id : undefined),
    load(id) {
      const name = id.slice(NAMES_OF.length);
      const names = id.startsWith(NAMES_OF) ? LIBRARIES[name]?.names : undefined;
      return names && `export { ${names.join(", ")} } from "${name}";`;
    },
  };
}

/** Adds the license of each package that was bundled. */
function copyLicenses(modules: readonly string[], folder: string): void {
  const packages = new Map<string, string>();
  for (const path of modules) {
    const [, home, name] = /^\0?(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(path) ?? [];
    if (home !== undefined && name !== undefined) packages.set(name, home);
  }
  const texts = [...packages].sort().map(([name, home]) => `${name}\n\n${licenseOf(name, home)}\n`);
  writeFileSync(join(folder, "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}

/** The file of the license, or the section of the readme. */
function licenseOf(name: string, home: string): string {
  const [file] = globSync("{LICENSE,LICENCE,license}*", { cwd: home });
  if (file !== undefined) return readFileSync(join(home, file), "utf8").trim();
  const [readme] = globSync("{README,readme}*", { cwd: home });
  const [, section] = readme === undefined ? [] : readFileSync(join(home, readme), "utf8").split(/^#+ licen[cs]e\s*$/im);
  if (section === undefined) throw new Error(`${name} has no license`);
  return section.trim();
}

/**
 * Turns every import by name (of a library, or of another folder of ours) into a relative import: resolving a name through
 * package.json takes longer than loading most modules.
 */
function importRelatively(out: string, path: string): void {
  const to = (target: string): string => relative(dirname(path), target).replaceAll("\\", "/");
  const text = readFileSync(join(out, path), "utf8").replace(IMPORT, (whole, lead: string, name: string) => {
    const library = LIBRARIES[name];
    if (library !== undefined) return `${lead}"${to(`${LIBRARIES_FOLDER}/${library.file}.js`)}"`;
    return name.startsWith("#") ? `${lead}"${to(`${name.slice(1)}.js`)}"` : whole;
  });
  // A name that is resolved at run time cannot be rewritten.
  if (text.includes("import.meta.resolve(")) throw new Error(`${path} looks up a name at run time: name the file by its address`);
  writeFileSync(join(out, path), text);
}
