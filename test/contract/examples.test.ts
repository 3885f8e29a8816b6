/** Every export is described, and its examples compile and run as they are shown. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { parseDocComment } from "../../scripts/docs/doc-comment.ts";
import { ROOT } from "../../scripts/docs/pages.ts";
import { type ShownExport, shownExports } from "../../scripts/docs/sdk-page.ts";
import { serveFlows } from "../support/served-flows.ts";

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
// Another test compares the page with the code.
const exports = shownExports(readFileSync(join(ROOT, "docs/reference/sdk.md"), "utf8"));
const examples = exports
  .flatMap(({ module, name, examples }) => examples.map((code) => ({ module, name, code })))
  .map((example, index) => ({ ...example, file: `${index}-${example.name}.ts` }));

/** What the examples of the client expect of their server. */
const SERVED = `import { flow, Type } from "millrace";
const parameters = Type.Object({ name: Type.String() });
export const greeting = flow("greeting", { project: "shop", parameters }, async ({ name }) => \`Hello, \${name}\`);
export const exported = flow("export", { project: "shop" }, async () => "x".repeat(100_000));
export const connect = flow("connect", { project: "shop" }, async () => ({ close: () => undefined, id: 7n }));
`;
const server = await serveFlows(t, { "flows.ts": SERVED });

/** A package that depends on `millrace`. Compiled, that starts four times faster than from its sources. */
const folder = join(server.root, "examples");
mkdirSync(join(folder, "node_modules"), { recursive: true });
symlinkSync(ROOT, join(folder, "node_modules/millrace"));
symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
const compilerOptions = {
  target: "es2023",
  lib: ["es2023", "dom"],
  module: "nodenext",
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ["node"],
};
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
for (const { file, code } of examples) writeFileSync(join(folder, file), code);

t.test("every export and every member is described, and values have examples", async (t) => {
  const values = exports.filter(({ group }) => group !== "Types");
  t.ok(values.length > 40 && exports.length > values.length, `${values.length} of ${exports.length} exports are values`);
  t.same(names(exports.filter(({ description }) => description === "")), [], "exports without a description");
  t.same(names(values.filter(({ examples }) => examples.length === 0)), [], "values without an example");
  t.same(names(exports.filter(({ bareMembers }) => bareMembers.length > 0)), [], "exports whose members have no description");
});

function names(found: readonly ShownExport[]): string[] {
  return found.map(({ module, name, bareMembers }) => [module, name, ...bareMembers].join(" "));
}

t.jobs = availableParallelism();
t.test("all examples compile", { buffered: true }, async (t) => {
  const run = await promisify(execFile)(process.execPath, [tsc, "-p", folder]).catch((error: { stdout: string }) => error);
  t.equal(run.stdout, "");
});

t.ok(examples.length > 50, `${examples.length} examples`);
for (const { module, name, file } of examples) {
  t.test(`the example of ${name} of ${module} runs`, { buffered: true }, async (t) => {
    const home = module === "millrace/client" ? server.home : join(folder, `home-of-${file}`);
    const env = { ...process.env, MILLRACE_HOME: home };
    const run = promisify(execFile)(process.execPath, [join(folder, file)], { cwd: folder, env });
    await t.resolves(run);
  });
}

t.test("a tag within the code of an example belongs to the code", async (t) => {
  const comment =
    "/**\n * What it does.\n * @example\n * ```ts\n * // see @param\n * run();\n * ```\n * @throws Error always\n */";
  const { summary, params, throws, examples } = parseDocComment(comment);
  t.same(
    { summary, params, throws, examples },
    {
      summary: "What it does.",
      params: [],
      throws: ["Error always"],
      examples: ["// see @param\nrun();"],
    },
  );
});
