/** Modules in packages that say CommonJS, which `npm init` writes, or nothing. */
import { join } from "node:path";
import t from "tap";
import { loadModule } from "#sdk/modules/load-module";
import { isModuleOfEitherKind } from "#sdk/modules/module-kind";

const PACKAGES = ['{"type":"commonjs"}', "{}", '{"type":"module"}'];

t.test("a flow file with import and export is a module whatever its package says", async (t) => {
  for (const text of PACKAGES) {
    const directory = t.testdir({
      "package.json": text,
      "a.ts": [
        'import { flow } from "millrace";',
        '  import type { Reading } from "./reading.ts";',
        'import { next } from "./next.ts";',
        'import { step } from "./step.js";',
        'export const a = flow("a", (): Reading => ({ value: next(step) }));',
      ].join("\n"),
      "next.ts": "export function next(x: number): number { return x + 1; }",
      "step.js": "export const step = 3;",
      "reading.ts": "export interface Reading { value: number }",
    });
    const { error, flows } = await loadModule(directory, "a.ts");
    t.same([error, flows.map(({ definition }) => definition.name)], [null, ["a"]], text);
  }
});

t.test("a file of CommonJS stays one, also where a text looks like a statement of a module", async (t) => {
  const directory = t.testdir({
    "package.json": '{"type":"commonjs"}',
    "a.mjs": 'import { flow } from "millrace";\nimport text from "./name.ts";\nexport const a = flow(text.name, () => 1);\n',
    "name.ts":
      "const text: string = `\nexport const a = 1;\n`;\nmodule.exports = { name: 'a' + text.length + (__filename.length > 0) };\n",
  });
  const { error, flows } = await loadModule(directory, "a.mjs");
  t.same([error, flows.map(({ definition }) => definition.name)], [null, ["a21true"]]);
});

t.test("the statements of a file tell its kind", async (t) => {
  const modules = [
    'import "node:fs";',
    'import fs from "node:fs";',
    'import*as fs from"node:fs";',
    'import {x} from "./x.ts";\nconst { y } = require("./y.cjs");',
    "// first\nexport default 1;",
    "const x = 1;\nexport { x };",
    'export * from "./x.ts";',
    "export async function x() {}",
  ];
  const others = [
    "",
    "const x = 1;",
    'const fs = await import("node:fs");',
    'import type { X } from "./x.ts";',
    "export type X = number;",
    "exports.x = 1;\n/*\nexport const y = 1;\n*/",
    'const text = `\nimport "node:fs";\n`;\nmodule.exports = text;',
  ];
  const files = [...modules, ...others].map((code, index) => [`${index}.ts`, code]);
  const directory = t.testdir({ ...Object.fromEntries(files), "a.mts": "export {};", "a.cjs": 'import "node:fs";' });
  for (const [index, [name = "", code = ""]] of files.entries())
    t.equal(isModuleOfEitherKind(join(directory, name)), index < modules.length, code);
  for (const name of ["a.mts", "a.cjs", "absent.ts"]) t.equal(isModuleOfEitherKind(join(directory, name)), false, name);
});
