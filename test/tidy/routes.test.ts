import t from "tap";
import { ROUTES } from "#protocol/routes/routes";
import { COMMANDS } from "#protocol/wire/command";
import { importsOf } from "./module-graph.ts";
import { PRODUCT, type SourceFile } from "./sources.ts";

/** Text of the files that serve rows of the table, by kind of row. */
function codeOf(pattern: RegExp): string {
  return PRODUCT.filter(({ path }) => pattern.test(path))
    .map(({ code }) => code)
    .join("\n");
}

t.test("what the gateway answers by itself has a service", async (t) => {
  const endpoints = codeOf(/^gateway\//);
  for (const route of ROUTES.filter(({ kind }) => kind === "local"))
    t.match(endpoints, new RegExp(`\\b${route.operation}\\b`), route.operation);
});

t.test("what is read has a query", async (t) => {
  const table = codeOf(/^gateway\/reads\//);
  for (const route of ROUTES.filter(({ kind }) => kind === "read"))
    t.match(table, new RegExp(`\\b${route.operation}\\b`), route.operation);
});

t.test("what an actor decides has a handler in that actor, and a row that sends it", async (t) => {
  const sent = new Set(ROUTES.map(({ command }) => command));
  for (const [kind, { actor }] of Object.entries(COMMANDS)) {
    const handled = new RegExp(`["']${kind}["']|\\b${kind}:|\\bcase "${kind}"`);
    if (sent.has(kind as keyof typeof COMMANDS))
      t.match(codeOf(new RegExp(`^actors/${actor}/`)), handled, `${kind} is handled by ${actor}`);
  }
});

t.test("what is special about a kind of command is a column of the table, not a comparison", async (t) => {
  const kind = new RegExp(`["'](?:${Object.keys(COMMANDS).join("|")})["']|\\b(?:${Object.keys(COMMANDS).join("|")}):`, "g");
  const found = PRODUCT.filter(({ path }) => /^(?:gateway|actors\/core|actors\/dispatch-group)\//.test(path)).flatMap(
    // Types may name kinds: Command<"Report">.
    ({ path, code }) => (code.replaceAll(/<[\w"'| ]*>/g, "").match(kind) ?? []).map((name) => `${path}: ${name}`),
  );
  t.same(found, []);
  const table = Object.values(COMMANDS);
  for (const column of ["parks", "reportsUndelivered", "refusable", "sliced", "completedByGateway"] as const)
    t.equal(new Set(table.map((row) => row[column])).size, 2, `${column} distinguishes kinds`);
});

t.test("every query of the store is asked by someone", async (t) => {
  const imported = new Set(PRODUCT.flatMap((file: SourceFile) => importsOf(file).map(({ target }) => target)));
  t.same(
    PRODUCT.map(({ path }) => path).filter((path) => path.startsWith("storage/queries/") && !imported.has(path)),
    [],
  );
});
