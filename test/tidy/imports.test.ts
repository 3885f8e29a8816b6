import t from "tap";
import { importsOf } from "./module-graph.ts";
import { PRODUCT, SOURCES } from "./sources.ts";

/**
 * Allowed imports between folders: a name stands for the whole folder, a longer name for files with that prefix. `types` may
 * be imported as types only, so that no code is loaded.
 */
interface Direction {
  from: string;
  allows: readonly string[];
  types?: readonly string[];
  reason: string;
}

/** The first row whose prefix matches a file's path applies. */
const DIRECTIONS: readonly Direction[] = [
  { from: "runtime/", allows: [], reason: "the actor runtime knows nothing of Millrace" },
  { from: "system/", allows: [], reason: "what the operating system knows of this host, for engines and the server alike" },
  { from: "protocol/", allows: [], reason: "the interface stands alone, so that every part can use it" },
  { from: "storage/", allows: ["protocol"], reason: "the store knows records, not those who decide about them" },
  {
    from: "actors/store-writer/",
    allows: ["runtime", "protocol", "storage/write/batch"],
    types: ["storage/port"],
    reason: "it writes through the port of the store, whichever store that is",
  },
  {
    from: "actors/",
    allows: [
      "runtime",
      "system",
      "protocol",
      "storage/write/ops",
      "storage/write/batch",
      "storage/schema/log-blocks",
      "storage/schema/run-marks",
      "storage/load/lineage-events",
      "storage/load/load",
      "storage/load/load-runs",
      "storage/load/load-rules",
      "storage/load/load-durable",
      "storage/load/load-events",
      "storage/read/event-match",
      "storage/sqlite/statements",
      "storage/templates",
    ],
    types: ["storage/queries", "storage/port"],
    reason: "decisions become row operations; the store itself is loaded once, at the start of a group",
  },
  {
    from: "gateway/",
    allows: [
      "protocol",
      "runtime",
      "storage/read/awaited-queries",
      "storage/read/read-pool",
      "storage/read/read-handle",
      "storage/sqlite/statements",
      "storage/sqlite/storage-error",
      "storage/queries",
    ],
    reason: "the gateway reads and never writes",
  },
  {
    from: "sdk/script/",
    allows: ["system", "protocol", "sdk"],
    reason: "a script without a server is one itself, which it loads by `import()` then",
  },
  { from: "sdk/", allows: ["system", "protocol"], reason: "user code and engines speak to a server, they hold none of it" },
  {
    from: "server/user-code/child/",
    allows: ["protocol", "sdk"],
    types: ["actors/user-code", "server"],
    reason: "a process of its own: imports flow files as an engine does",
  },
  {
    from: "server/",
    allows: [
      "runtime",
      "system",
      "protocol",
      "storage",
      "actors",
      "gateway",
      "sdk/modules/load-module",
      "sdk/modules/jobs-module",
      "sdk/modules/loaded-file",
      "sdk/modules/registration",
    ],
    reason: "puts the parts together",
  },
  {
    from: "cli/",
    allows: ["protocol", "sdk", "server/config/config", "server/discovery-file"],
    types: ["server/main", "server/discovery/discovery", "server/operations"],
    reason: "short commands start fast: the server itself is loaded by `import()` where it is needed",
  },
  {
    from: "dashboard/vite.config.ts",
    allows: [],
    reason: "the build of the dashboard",
  },
  {
    from: "dashboard/",
    allows: ["protocol/routes/dashboard-pages", "protocol/records/run-progress", "protocol/records/state"],
    types: ["protocol"],
    reason: "the browser gets records as types, and of values only what is small and alone",
  },
  {
    from: "examples/",
    allows: ["cli", "sdk", "server/config/config"],
    reason: "flows import the package by its name; the demo starts a server",
  },
];

/** Packages that a single place wraps, so that they can be replaced. */
const HIDDEN_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "uWebSockets.js": ["gateway/transport/uws-transport.ts"],
  "better-sqlite3": ["storage/sqlite/driver.ts"],
  piscina: ["storage/read/read-pool.ts", "storage/read/read-worker.ts"],
  comlink: ["runtime/thread.ts", "runtime/comlink-node-adapter.d.ts", "sdk/engine/"],
  commander: ["cli/program.ts"],
  "smol-toml": ["server/", "sdk/jobs/"],
  nunjucks: ["storage/templates/"],
  rrule: ["actors/", "protocol/"],
  "cron-parser": ["actors/", "protocol/"],
  undici: ["actors/outbound/"],
  "prom-client": ["gateway/metrics/"],
  "@opentelemetry": ["sdk/tracing/"],
  nodemailer: ["actors/outbound/email.ts"],
};

/** Imports of a folder that are allowed only as `import()`, when needed. */
const AT_RUN_TIME: Readonly<Record<string, readonly string[]>> = {
  "cli/": ["server/main", "server/operations", "server/discovery"],
  "sdk/": ["server/in-process"],
};

function matches(target: string, names: readonly string[]): boolean {
  return names.some(
    (name) =>
      target === name ||
      target === `${name}.ts` ||
      target.startsWith(`${name}/`) ||
      (name.endsWith("/") && target.startsWith(name)),
  );
}

t.test("imports follow the direction of the folders", async (t) => {
  const found: string[] = [];
  for (const file of SOURCES) {
    const direction = DIRECTIONS.find(({ from }) => file.path.startsWith(from));
    if (direction === undefined) continue;
    for (const { target, line, kind } of importsOf(file)) {
      if (target === null || target.startsWith(`${file.folder}/`)) continue;
      const typeOnly = kind === "type" && matches(target, direction.types ?? []);
      const atRunTime = kind === "dynamic" && matches(target, AT_RUN_TIME[`${file.folder}/`] ?? []);
      if (!matches(target, direction.allows) && !typeOnly && !atRunTime)
        found.push(`${file.path}:${line} imports ${target} (${direction.reason})`);
    }
  }
  t.same(found, []);
});

t.test("what actors share loads no actor", async (t) => {
  const sharedBy: Readonly<Record<string, RegExp>> = {
    "actors/core/": /^actors\/(?:core\/|names\.ts$|ids\.ts$)/,
    "actors/core/state/": /^actors\/(?:core\/state\/|names\.ts$)/,
  };
  for (const [folder, allowed] of Object.entries(sharedBy)) {
    const files = PRODUCT.filter(({ path }) => path.startsWith(folder));
    t.ok(files.length > 0, folder);
    const found = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target, kind }) => kind !== "type" && target?.startsWith("actors/") === true && !allowed.test(target))
        .map(({ target, line }) => `${file.path}:${line} imports ${target}`),
    );
    t.same(found, [], folder);
  }
});

t.test("only the store writer's thread, and an import without a server, open the write handle", async (t) => {
  const importers = PRODUCT.filter((file) => importsOf(file).some(({ target }) => target === "storage/write/write-handle.ts"));
  t.same(
    importers.map(({ path }) => path).filter((path) => path !== "actors/store-writer/store-writer.ts"),
    ["server/threads/writer.ts", "storage/transfer/sqlite-tables.ts"],
  );
});

t.test("a package that could be replaced is known in one place", async (t) => {
  const found: string[] = [];
  for (const file of PRODUCT) {
    for (const { name, line } of importsOf(file)) {
      for (const [hidden, places] of Object.entries(HIDDEN_PACKAGES)) {
        if (name !== hidden && !name.startsWith(`${hidden}/`)) continue;
        if (!places.some((place) => file.path === place || (place.endsWith("/") && file.path.startsWith(place))))
          found.push(`${file.path}:${line} imports ${name}`);
      }
    }
  }
  t.same(found, []);
});

t.test("one spelling: relative inside a folder with its ending, by name across folders without", async (t) => {
  const found: string[] = [];
  for (const file of PRODUCT) {
    for (const { name, line, target } of importsOf(file)) {
      const sameFolder = target?.startsWith(`${file.folder}/`) === true;
      const good = name.startsWith("#")
        ? !sameFolder && !name.endsWith(".ts")
        : !name.startsWith(".") || (sameFolder && /\.(?:tsx?|css)$/.test(name));
      if (!good && target !== null) found.push(`${file.path}:${line} writes ${name}`);
    }
  }
  t.same(found, []);
});

t.test("every import leads to a file", async (t) => {
  const found = SOURCES.flatMap((file) =>
    importsOf(file)
      .filter(({ name, target }) => /^[.#]/.test(name) && target === null && !name.includes("$"))
      .map(({ name, line }) => `${file.path}:${line} imports ${name}`),
  );
  t.same(found, []);
});
