/** The examples in the comments of exports compile and run as they are shown. */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { parseDocComment } from "../../scripts/docs/doc-comment.ts";
import { ROOT } from "../../scripts/docs/pages.ts";
import { sdkExamples } from "../../scripts/docs/sdk-reference.ts";
import { builtPath } from "../support/built-package.ts";

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const examples = sdkExamples().map((example, index) => ({ ...example, file: `${index}-${example.name}.ts` }));

/** A package that depends on the sources as `millrace`. */
const folder = t.testdir();
mkdirSync(join(folder, "node_modules"));
symlinkSync(ROOT, join(folder, "node_modules/millrace"));
symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
const include = ["*.ts", join(ROOT, "runtime/*.d.ts"), join(ROOT, "storage/templates/*.d.ts")];
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: join(ROOT, "tsconfig.json"), include }));
for (const { file, code } of examples) writeFileSync(join(folder, file), code);

t.test("all examples compile", async (t) => {
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
  t.equal(status, 0, stdout);
});

// The compiled package starts four times faster than its sources.
builtPath("sdk/index");
t.ok(examples.length > 15, `${examples.length} examples`);
for (const { module, name, file } of examples) {
  t.test(`the example of ${name} of ${module} runs`, async (t) => {
    const run = promisify(execFile)(process.execPath, [join(folder, file)], { cwd: folder });
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
