import t from "tap";
import { importsOf, reachedFrom } from "./module-graph.ts";
import { PRODUCT, readText, SOURCES, TEXTS } from "./sources.ts";

/** Flow files that tests and examples pass to engines by path. */
const HANDED_OVER = /^test\/(?:[^/]+\/)+[\w-]*flows\/|^examples\//;

interface PackageFile {
  bin: Record<string, string>;
  exports: Record<string, Record<string, string> | string>;
  scripts: Record<string, string>;
}

const settings = JSON.parse(readText("package.json")) as PackageFile;
const byPath = new Map(SOURCES.map((file) => [file.path, file]));

function sourceOf(built: string): string {
  return built
    .replace(/^\.\//, "")
    .replace(/^dist\//, "")
    .replace(/\.js$/, ".ts");
}

/** Entries of the dashboard's build. */
const DASHBOARD_ENTRIES = ["dashboard/main.tsx", "dashboard/vite.config.ts"];
/** What users start or import. */
const PRODUCT_ENTRIES = [
  ...DASHBOARD_ENTRIES,
  ...Object.values(settings.bin).map(sourceOf),
  ...Object.values(settings.exports).flatMap((target) => (typeof target === "string" ? [] : [sourceOf(target["default"] ?? "")])),
];
/** Entries for developers: the package's scripts, what the test runner loads, programs named in documents, and every test. */
const DEVELOPMENT_ENTRIES = [
  ...[...Object.values(settings.scripts), readText(".taprc")].flatMap((text) => text.match(/\b[\w/-]+\.ts\b/g) ?? []),
  ...TEXTS.filter((path) => path.endsWith(".md")).flatMap(
    (path) => readText(path).match(/\b(?:test|scripts)\/[\w/-]+\.ts\b/g) ?? [],
  ),
  ...SOURCES.map(({ path }) => path).filter((path) => path.endsWith(".test.ts")),
];

function isExcepted(path: string): boolean {
  return path.endsWith(".d.ts");
}

function reachable(entries: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path);
    if (file === undefined || seen.has(path)) continue;
    seen.add(path);
    waiting.push(...reachedFrom(file));
  }
  return seen;
}

t.test("every file of the product is used by the product", async (t) => {
  const reached = reachable(PRODUCT_ENTRIES);
  t.ok(reached.size > 100, "the entries are found");
  const dead = PRODUCT.map(({ path }) => path).filter((path) => !reached.has(path) && !isExcepted(path));
  t.same(dead, []);
});

t.test("every other file is used by a test, a script or an example", async (t) => {
  const reached = reachable([...PRODUCT_ENTRIES, ...DEVELOPMENT_ENTRIES]);
  t.same(
    SOURCES.map(({ path }) => path).filter((path) => !reached.has(path) && !HANDED_OVER.test(path) && !isExcepted(path)),
    [],
  );
});

/** Modules loaded by a thread at its start, packages by name. */
function loadedBy(entries: readonly string[]): Set<string> {
  const loaded = new Set<string>();
  const waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path);
    if (loaded.has(path)) continue;
    loaded.add(path);
    if (file === undefined) continue;
    waiting.push(...importsOf(file).flatMap(({ kind, target, name }) => (kind === "value" ? [target ?? name] : [])));
  }
  return loaded;
}

/** Modules that a thread must not load, so that it starts fast: own files with this prefix, and packages. */
const UNNEEDED: readonly { thread: string; entries: readonly string[]; has: string; lacks: RegExp }[] = [
  {
    thread: "the writer's thread: no schemas and no decisions",
    entries: ["server/threads/entry.ts", "server/threads/writer.ts"],
    has: "storage/write/writer.ts",
    lacks:
      /^actors\/(core|dispatch-group|dispatcher|lease-manager|rule-engine|scheduler|records)\/|^protocol\/(routes\/routes|values\/validate)|^typebox/,
  },
  {
    thread: "main: no schemas, decisions, schedules or templates",
    entries: ["cli/main.ts", "cli/program.ts", "cli/serve/serve.ts", "server/main.ts"],
    has: "runtime/supervisor.ts",
    lacks:
      /^actors\/(core|dispatch-group|dispatcher|lease-manager|rule-engine|scheduler|records)\/|^protocol\/(routes\/routes|values\/validate|records\/rule-spec)|^(typebox|luxon|cron-parser|nunjucks|undici|node:http)\b/,
  },
  {
    thread: "the gateway: no schedules, and no node:http, which loads an HTTP client",
    entries: ["server/threads/entry.ts", "server/threads/gateway.ts"],
    has: "gateway/request/router.ts",
    lacks:
      /^actors\/(core|dispatch-group|dispatcher|lease-manager|rule-engine|scheduler|records)\/|^(luxon|cron-parser|undici|node:http)\b/,
  },
  {
    thread: "the core: no routes",
    entries: ["server/threads/entry.ts", "server/threads/core.ts"],
    has: "actors/dispatcher/dispatcher.ts",
    lacks: /^gateway\/|^protocol\/mcp|^(undici|nodemailer|node:http)\b/,
  },
];

t.test("a thread loads only what it is to do at its start", async (t) => {
  for (const { thread, entries, has, lacks } of UNNEEDED) {
    const loaded = loadedBy(entries);
    t.ok(loaded.has(has), `${thread}: its modules are found`);
    t.same(
      [...loaded].filter((name) => lacks.test(name)),
      [],
      thread,
    );
  }
});
