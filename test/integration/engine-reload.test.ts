/** Files of user code that change while an engine serves: a run executes the files as they are at its start. */
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startEngine } from "../support/engine-process.ts";

/** Outside this package, whose own files are not watched. */
const root = realpathSync(mkdtempSync(join(tmpdir(), "millrace-reload-")));
t.teardown(() => rmSync(root, { recursive: true, force: true }));
const save = (path: string, text: string): void => writeFileSync(join(root, path), text);
for (const folder of ["served", "served/deep", "first", "second", "node_modules/installed"])
  mkdirSync(join(root, folder), { recursive: true });

const IMPORTS = [
  ["existsSync", "node:fs"],
  ["flow, log", "millrace"],
  ["setTimeout as sleep", "node:timers/promises"],
  ["deep", "./deep/deep.ts"],
  ["outside", "../outside.ts"],
  ["linked", "../current/linked.ts"],
  ["old", "./old.cjs"],
].map(([names, from]) => `import { ${names} } from "${from}";`);
const FLOWS = `${IMPORTS.join("\n")}
  ${`import data from "./data.json"`} with { type: "json" };
  const later = "./lazy.ts";
  export const words = flow("words", async () => [deep, outside, linked, old, data.word, (await import(later)).lazy]);
  export const waits = flow("waits", async () => {
    log.info("started");
    while (!existsSync(${JSON.stringify(join(root, "go"))})) await sleep(5);
    return deep;
  });`;
save("served/flows.ts", FLOWS);
save("served/deep/deep.ts", `export { word as deep } from "./word.ts";`);
save("served/deep/word.ts", `export const word: string = "deep 1";`);
save("outside.ts", `export const outside = "outside 1";`);
save("first/linked.ts", `export { word as linked } from "./word.ts";`);
save("first/word.ts", `export const word = "linked 1";`);
save("second/linked.ts", `export { word as linked } from "./word.ts";`);
save("second/word.ts", `export const word = "linked 2";`);
symlinkSync("first", join(root, "current"));
save("served/old.cjs", `exports.old = require("./older.cjs");`);
save("served/older.cjs", `module.exports = "old 1";`);
save("served/data.json", `{ "word": "data 1" }`);
save("served/lazy.ts", `export const lazy = "lazy 1";`);

const { server } = await startEngine(t, "flows.ts", ["--source-dir", join(root, "served")]);
const run = async (flow = "words"): Promise<unknown> => {
  const { state } = await server.ended(server.enqueue(flow));
  return state.type === "Completed" ? state.details["result"] : state;
};

const words = ["deep 1", "outside 1", "linked 1", "old 1", "data 1", "lazy 1"];

t.test("a run that starts after a save executes the saved code, whichever of its imports was saved", async (t) => {
  t.same(await run(), words);
  const saves: [index: number, path: string, text: string][] = [
    [0, "served/deep/word.ts", `export const word: string = "deep 2";`],
    [1, "outside.ts", `export const outside = "outside 2";`],
    [3, "served/older.cjs", `module.exports = "old 2";`],
    [4, "served/data.json", `{ "word": "data 2" }`],
    [5, "served/lazy.ts", `export const lazy = "lazy 2";`],
  ];
  for (const [index, path, text] of saves) {
    save(path, text);
    words[index] = words[index]?.replace("1", "2") ?? "";
    t.same(await run(), words, path);
  }
  save("served/flows.ts", FLOWS.replace("[deep,", '[deep + "!",'));
  t.same(await run(), ["deep 2!", ...words.slice(1)], "the file of the flow itself");
  save("served/flows.ts", FLOWS);
});

t.test("a link that points elsewhere, and a save by rename, count like a save in place", async (t) => {
  unlinkSync(join(root, "current"));
  symlinkSync("second", join(root, "current"));
  words[2] = "linked 2";
  t.same(await run(), words);
  save("served/deep/word.ts~", `export const word: string = "deep 3";`);
  renameSync(join(root, "served/deep/word.ts~"), join(root, "served/deep/word.ts"));
  words[0] = "deep 3";
  t.same(await run(), words);
});

t.test("two saves of one size, each run at once", async (t) => {
  for (const digit of [4, 5]) {
    save("served/lazy.ts", `export const lazy = "lazy ${digit}";`);
    words[5] = `lazy ${digit}`;
    t.same(await run(), words);
  }
});

t.test("a run under way finishes on the code that it started with, the next one has the saved code", async (t) => {
  const waiting = server.enqueue("waits");
  await server.until(() => server.logs(waiting).includes("started"));
  save("served/deep/word.ts", `export const word: string = "deep 7";`);
  save("go", "");
  const { state } = await server.ended(waiting);
  t.equal(state.details["result"], "deep 3");
  t.equal(await run("waits"), "deep 7");
  words[0] = "deep 7";
});

t.test("runs that are given while others execute former code go back, and execute the saved code afterwards", async (t) => {
  rmSync(join(root, "go"));
  const waiting = server.enqueueAll([{ flow: "waits" }, { flow: "waits" }, { flow: "waits" }]);
  await server.until(() => waiting.every((run) => server.logs(run).includes("started")));
  save("served/deep/word.ts", `export const word: string = "deep 8";`);
  const later = server.enqueueAll([{ flow: "words" }, { flow: "words" }]);
  await server.until(() => later.some(({ returned }) => returned > 0) && server.parked);
  t.equal(server.exchanges.at(-1)?.slots, 0, "the engine drains");
  save("go", "");
  await server.allEnded([...waiting, ...later]);
  for (const { state, returned } of waiting)
    t.match({ state, returned }, { state: { details: { result: "deep 7" } }, returned: 0 });
  words[0] = "deep 8";
  for (const { state, history } of later) {
    t.same(state.details["result"], words);
    t.same(history, ["Pending", "Running", "Completed"], "no attempt is lost");
  }
});

t.test("a run whose code no longer loads fails with the reason, and runs again once it loads", async (t) => {
  save("served/deep/word.ts", "export const word: string = nonsense(;");
  t.match(await run(), {
    type: "Failed",
    message: /^the file of flow engine-flows\/words does not load as it is now: deep\/word\.ts:1:\d+: SyntaxError: /,
    details: { exception: "FlowNotLoaded", traceback: /word\.ts/ },
  });
  t.match(await run(), { type: "Failed" }, "nor does the former code run later");
  save("served/deep/word.ts", `export const word: string = "deep 9";`);
  words[0] = "deep 9";
  t.same(await run(), words);
  unlinkSync(join(root, "served/deep/word.ts"));
  t.match(await run(), { type: "Failed", message: /does not load as it is now: .*Cannot find module .*word\.ts/ });
  save("served/deep/word.ts", `export const word: string = "deep 10";`);
  words[0] = "deep 10";
  t.same(await run(), words);
});

t.test("a file that is saved in two steps is imported again after the second", async (t) => {
  save(
    "served/flows.ts",
    `import { writeFileSync } from "node:fs"; writeFileSync(import.meta.filename, ${JSON.stringify(FLOWS)});`,
  );
  t.same(await run(), words);
});
