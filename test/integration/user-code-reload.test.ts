/** Files of user code that change while they are served. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { UserCall } from "#actors/user-code/user-code-calls";
import type { CodeFound } from "#actors/user-code/user-code-messages";
import { ServedCode } from "#server/user-code/served-code";
import { keep } from "../support/kept-code.ts";

t.test("changed files are loaded by a fresh process, while calls under way have their answer from the former one", async (t) => {
  const files = {
    "code.ts": `import { rule } from "millrace"; import { word } from "./word.ts";
      export const say = rule("say", {}, () => word);
      export const slow = rule("slow", {}, () => new Promise((resolve) => setTimeout(() => resolve(word), 300)));`,
    "word.ts": `export const word = "first";`,
    "notes.txt": "",
  };
  const { keeper, call, dir, lines } = await keep(t, files);
  t.same(await call("say"), { type: "rule", detail: "first" });
  writeFileSync(join(dir, "notes.txt"), "of no interest");
  writeFileSync(join(dir, "more-notes.txt"), "of no interest");
  t.same([await keeper.look(), await keeper.look()], [false, false]);
  writeFileSync(join(dir, "word.ts"), `export const word = "second";`);
  t.same([await keeper.look(), await keeper.look()], [false, true], "once it has rested");
  const slow = call("slow");
  await keeper.discover();
  t.same(await call("say"), { type: "rule", detail: "second" });
  t.same(await slow, { type: "rule", detail: "first" });
  writeFileSync(join(dir, "added.ts"), `import { rule } from "millrace"; export const more = rule("more", {}, () => 1);`);
  t.same([await keeper.look(), await keeper.look()], [false, true]);
  t.match(await keeper.discover(), { rules: [{ name: "more" }, { name: "say" }, { name: "slow" }] });
  t.same(lines, []);
});

t.test("a module that cannot be imported any more fails its own calls, not those of others", async (t) => {
  const rule = (name: string) => `import { rule } from "millrace"; export const r = rule("${name}", {}, () => "${name}");`;
  const { keeper, call, dir } = await keep(t, { "code.ts": rule("code"), "other.ts": rule("other") });
  writeFileSync(join(dir, "code.ts"), "import 'millrace'; nonsense(");
  const discovery = await keeper.discover();
  t.match(discovery, { rules: [{ name: "other" }], problems: [{ module: "code.ts", kind: "file" }] });
  t.match(await call("code"), { type: "failed", error: /module code\.ts cannot be imported: code\.ts:1:1: SyntaxError/ });
  const other: UserCall = { type: "rule", module: "other.ts", name: "other", event: {}, run: null };
  t.same(await keeper.call(other, 60_000), { type: "rule", detail: "other" });
});

t.test("a folder that has gone is seen like any change, and what was loaded from it is still called", async (t) => {
  const files = { "code.ts": `import { rule } from "millrace"; export const say = rule("say", {}, () => "here");` };
  const { keeper, call, dir } = await keep(t, files);
  rmSync(dir, { recursive: true });
  t.same(
    [await keeper.look(), await keeper.look(), await keeper.look()],
    [false, false, true],
    "the file first, then its folder",
  );
  await t.rejects(keeper.discover(), { code: "ENOENT" });
  t.same(await call("say"), { type: "rule", detail: "here" });
});

t.test("where nothing is called no process is kept", async (t) => {
  const { keeper, call } = await keep(t, {
    "code.ts": `import { flow } from "millrace"; export const f = flow("f", async () => 1);`,
  });
  t.match(await call("say"), { type: "failed", error: /module code\.ts is not served/ });
  keeper.stop();
});

t.test("it is said which files were loaded again, and for how many flows", async (t) => {
  const flows = (name: string) => `import { flow } from "millrace"; import { word } from "./word.ts";
    export const ${name} = flow("${name}", async () => word); export const ${name}Too = flow("${name}-too", async () => word);`;
  const files = {
    "a.ts": flows("a"),
    "b.ts": flows("b"),
    "c.ts": `import { flow } from "millrace"; export const c = flow("c", async () => 1);`,
    "word.ts": "export const word = 1;",
  };
  const { keeper, dir, lines } = await keep(t, files);
  const found: CodeFound[] = [];
  const told: string[] = [];
  const code = new ServedCode(keeper, {
    found: (message) => found.push(message),
    complain: (line) => lines.push(line),
    tell: (line) => told.push(line),
  });
  code.take(await code.discover());
  writeFileSync(join(dir, "word.ts"), "export const word = 2;");
  await code.discoverAgain();
  t.same(told, ["code of 4 flows reloaded: word.ts changed"]);
  t.match(found.at(-1)?.reloaded, { files: 1, names: ["word.ts"], flows: [{ flow: "a" }, { flow: "a-too" }, {}, {}] });
  mkdirSync(join(dir, "data"));
  await code.discoverAgain();
  t.equal(found.at(-1)?.reloaded, null, "nothing that was loaded has changed");
  writeFileSync(join(dir, "a.ts"), "import 'millrace'; nonsense(");
  await code.discoverAgain();
  t.equal(told.length, 1, "a file that does not load was not reloaded");
  t.match(lines.at(-1), /^a\.ts could not be used: /);
});

t.test("the terminal names the flows that were added, declared otherwise or are gone, and the problems", async (t) => {
  const flowFile = (name: string, options = "{}") =>
    `import { every, flow } from "millrace"; export const f = flow("${name}", ${options}, async () => 1);`;
  const { keeper, dir, lines } = await keep(t, { "a.ts": flowFile("a"), "b.ts": flowFile("b") });
  const told: string[] = [];
  const code = new ServedCode(keeper, {
    found: () => undefined,
    complain: (line) => lines.push(line),
    tell: (line) => told.push(line),
  });
  code.take(await code.discover());
  const reload = async (): Promise<string[]> => {
    await code.discoverAgain();
    return told.splice(0);
  };
  t.same(await reload(), [], "nothing has changed");
  writeFileSync(join(dir, "c.ts"), flowFile("c"));
  t.same(await reload(), ["flow added: c (c.ts)"]);
  writeFileSync(join(dir, "a.ts"), flowFile("a", '{ schedules: [every("1h")] }'));
  t.same(await reload(), ["code of 1 flow reloaded: a.ts changed; flow declared otherwise: a (a.ts)"]);
  rmSync(join(dir, "b.ts"));
  t.same(await reload(), ["flow gone: b (b.ts)"]);
  writeFileSync(join(dir, "c.ts"), "import 'millrace'; nonsense(");
  t.same(await reload(), [], "the flow of a file that does not load stays");
  t.match(lines, [/^c\.ts could not be used: /]);
  writeFileSync(join(dir, "c.ts"), flowFile("later"));
  t.same(await reload(), ["code of 1 flow reloaded: c.ts changed; flow added: later (c.ts); flow gone: c (c.ts)"]);
  for (let at = 0; at < 7; at += 1) writeFileSync(join(dir, `more${at}.ts`), flowFile(`more${at}`));
  t.match(await reload(), [/^flows added: more0 \(more0\.ts\), .*more4 \(more4\.ts\) and 2 more$/]);
});
