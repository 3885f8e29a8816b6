/** Messages about modules that cannot be imported. */
import { join } from "node:path";
import t from "tap";
import { loadModule } from "#sdk/modules/load-module";

async function failureOf(directory: string, file: string): Promise<{ error: string; frame: string }> {
  const loaded = await loadModule(directory, file);
  if (loaded.error === null) throw new Error(`${file} was imported`);
  return loaded;
}

t.test("a syntax error names file, line and column, and shows the code", async (t) => {
  const code = "export const x = () => {\n  const a = ;\n};\n";
  const directory = t.testdir({
    "bad.ts": code,
    "bad.mjs": code,
    "uses.mjs": 'import "./bad.mjs";\n',
    "imports.mjs": 'import { no } from "./ok.mjs";\n',
    "ok.mjs": "",
  });
  const frame = "1 | export const x = () => {\n2 |   const a = ;\n  |             ^";
  t.match(await failureOf(directory, "bad.ts"), { error: /^bad\.ts:2:13: SyntaxError: /, frame });
  t.match(
    await failureOf(directory, "uses.mjs"),
    { error: /^bad\.mjs:2:13: SyntaxError: /, frame },
    "the file that has it, not the one that imports it",
  );
  const { error } = await failureOf(directory, "imports.mjs");
  t.match(error, /^imports\.mjs:1:10: SyntaxError: .*does not provide an export named 'no'/);
});

t.test("a file that ends too early has the place of its end", async (t) => {
  const directory = t.testdir({ "eof.ts": "export const x = (() => {\n  return 1;\n\n" });
  t.match(await failureOf(directory, "eof.ts"), { error: /^eof\.ts:[34]:1: SyntaxError: .*eof/, frame: /\^$/ });
});

t.test("an error that code throws while it is imported has no frame of its own", async (t) => {
  const directory = t.testdir({ "reads.mjs": 'JSON.parse("{");\n' });
  t.match(await failureOf(directory, "reads.mjs"), { error: /^SyntaxError: Expected property name/, frame: "" });
});

t.test("TypeScript that would need code is told how to write otherwise", async (t) => {
  const directory = t.testdir({
    "enum.ts": "export enum Colour { Red }",
    "space.ts": "namespace A { export const b = 1; }",
    "field.ts": "class C { constructor(private x: number) {} }",
  });
  t.match(await failureOf(directory, "enum.ts"), { error: /^enum\.ts:1:8: .*write an object instead: const Color/ });
  t.match(await failureOf(directory, "space.ts"), { error: /^space\.ts:1:1: .*instead of the namespace/ });
  t.match(await failureOf(directory, "field.ts"), { error: /^field\.ts:1:31: .*assign it in the constructor/ });
});

t.test("what is read as CommonJS is told how it becomes a module", async (t) => {
  const directory = t.testdir({ "package.json": '{"type":"commonjs"}', "a.ts": "const a = 1; export { a };\n" });
  const { error } = await failureOf(directory, "a.ts");
  t.match(error, /^a\.ts:1:14: SyntaxError: Unexpected token 'export'/);
  t.match(error, `set "type": "module" in ${join(directory, "package.json")}, or call the file a.mts`);
  for (const ending of ["cts", "cjs"]) {
    const other = t.testdir({ "package.json": '{"type":"module"}', [`b.${ending}`]: 'import "node:fs";\n' });
    const failure = await failureOf(other, `b.${ending}`);
    t.match(failure.error, new RegExp(`outside a module \\(call the file b\\.m${ending.slice(1)}\\)$`));
  }
});

t.test("a mistake in a module of a CommonJS package has its place", async (t) => {
  const code = 'import "node:fs";\nexport const x = () => {\n  const a = ;\n};\n';
  const directory = t.testdir({ "package.json": '{"type":"commonjs"}', "bad.ts": code, "bad.js": code });
  const frame = "2 | export const x = () => {\n3 |   const a = ;\n  |             ^";
  for (const file of ["bad.ts", "bad.js"])
    t.match(await failureOf(directory, file), { error: new RegExp(`^${file}:3:13: SyntaxError: `), frame });
});
