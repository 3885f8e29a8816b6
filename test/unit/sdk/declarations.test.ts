/** Warnings about doubtful declarations, given when their module is loaded. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { flow, waitForInput } from "#sdk/index";
import { loadModule } from "#sdk/modules/load-module";
import { runFlow } from "#sdk/testing/index";

async function warningsOf(directory: string, file: string): Promise<string[]> {
  const loaded = await loadModule(directory, file);
  if (loaded.error !== null) throw new Error(loaded.error);
  return loaded.warnings;
}

const MISSPELT = `
  import { cron, flow, task } from "millrace";
  const fetchPage = task("fetch", { retrys: 2, hooks: { onFail() {} } }, () => 1);
  export const daily = flow("daily", { maxConcurent: 1, schedules: [cron("0 6 * * *", { timeZone: "UTC" })], colour: "red" }, () => fetchPage());
`;

t.test("an unknown option of a flow, a task, their hooks or a schedule is named with the nearest that exists", async (t) => {
  const warnings = await warningsOf(t.testdir({ "a.ts": MISSPELT }), "a.ts");
  t.match(warnings, [
    /^task "fetch" has the unknown option "retrys", which does nothing; did you mean "retries"\?$/,
    /^hooks of task "fetch" has the unknown option "onFail"/,
    /^cron\("0 6 \* \* \*"\) has the unknown option "timeZone", which does nothing; did you mean "timezone"\?$/,
    /^flow "daily" has the unknown option "maxConcurent", which does nothing; did you mean "maxConcurrent"\?$/,
    /^flow "daily" has the unknown option "colour", which does nothing; known are .*retries.*schedules/,
  ]);
  t.equal(warnings.length, 5);
});

t.test("a text in the parameters of after that looks like an expression, and is none, is named", async (t) => {
  const after = (parameters: object) => `
    import { flow } from "millrace";
    export const next = flow("next", { after: { flows: ["load"], parameters: ${JSON.stringify(parameters)} } }, () => 1);
  `;
  const good = {
    day: "{{ run.parameters.day }}",
    id: "{{run.id}}",
    name: "{{ run.name }}",
    plain: "a { text }",
    list: ["{{ x }}"],
  };
  t.same(await warningsOf(t.testdir({ "good.ts": after(good) }), "good.ts"), []);
  const bad = { text: "run {{ run.id }}", day: "{{ parameters.day }}" };
  t.match(await warningsOf(t.testdir({ "bad.ts": after(bad) }), "bad.ts"), [
    /^after of flow "next" passes the parameter "text" on as the text "run {{ run.id }}"; only a text that is exactly one of /,
    /^after of flow "next" passes the parameter "day" on as the text /,
  ]);
});

t.test("a script says the same on standard error", async (t) => {
  const index = JSON.stringify(new URL("../../../sdk/index.ts", import.meta.url).href);
  const directory = t.testdir({ "s.mjs": `import { task } from ${index}; task("t", { retrys: 1 }, () => 1);` });
  const { stderr } = spawnSync(process.execPath, ["--conditions=millrace-src", join(directory, "s.mjs")], { encoding: "utf8" });
  t.equal(stderr, 'millrace: task "t" has the unknown option "retrys", which does nothing; did you mean "retries"?\n');
});

t.test("every option that exists is taken without a word", async (t) => {
  const directory = t.testdir({
    "all.ts": `
      import { cron, every, flow, task } from "millrace";
      task("t", { retries: 1, retryDelay: 1, retryJitter: 0, retryOn: () => true, timeout: "1s", concurrency: 1, resources: { r: 1 }, cache: { key: "k", expires: "1h" }, hooks: { onCompletion() {}, onFailure() {}, onCancel() {} } }, () => 1);
      export const f = flow("f", {
        retries: 1, retryDelay: 1, retryJitter: 0, retryOn: () => true, parameters: { type: "object" }, project: "p", description: "d", group: "g", tags: [],
        timeout: "1s", resources: { r: 1 }, maxConcurrent: 1, onOverlap: "skip", priority: 0, isolated: false, crashRetries: 1, logPrints: true,
        disableAfter: { failures: 1, within: "1h", pause: "1h" }, after: { flows: ["x"], key: "k", parameters: {} }, bulkComplete: () => [],
        hooks: { onCompletion() {}, onFailure() {}, onCancel() {}, onCrash() {} },
        schedules: [cron("* * * * *", { timezone: "UTC", catchup: "skip", catchupMax: 1, key: "a", dayOr: true }), every("1h", { anchor: new Date(), key: "b" })],
      }, () => 1);
    `,
  });
  t.same(await warningsOf(directory, "all.ts"), []);
});

t.test("a module in which no flow is found is told so, unless it is there for others", async (t) => {
  const directory = t.testdir({
    "kept.ts": 'import { flow } from "millrace"; const a = flow("hidden", () => 1);',
    "wrapped.ts": 'import { flow } from "millrace"; export default { a: flow("inside", () => 1) };',
    "script.ts": 'import "millrace";',
    "tasks.ts": 'import { task } from "millrace"; export const t = task("t", () => 1);',
    "own.ts":
      'import { flow } from "millrace"; const inner = flow("inner", () => 1); export const outer = flow("outer", () => inner());',
  });
  t.match(await warningsOf(directory, "kept.ts"), [/it exports no flow: write export before .*flow\("hidden"/]);
  t.match(await warningsOf(directory, "wrapped.ts"), [/it exports no flow: .*flow\("inside"/]);
  t.match(await warningsOf(directory, "script.ts"), [/it exports no flow, yet it is run/]);
  t.same(await warningsOf(directory, "tasks.ts"), []);
  t.same(await warningsOf(directory, "own.ts"), []);
});

t.test("a schema that cannot be written as JSON Schema is refused with what to do", async (t) => {
  const standard = (vendor: string) => ({ "~standard": { version: 1, vendor, validate: () => ({}) } });
  const declare = (parameters: object) => () => flow("f", { parameters }, () => 1);
  t.throws(declare({ ...standard("zod"), type: "object" }), { name: "TypeError", message: /parameters of flow "f".*use zod 4/ });
  t.throws(declare(Object.assign(() => 1, standard("arktype"))), { name: "TypeError", message: /use arktype 2/ });
  t.throws(declare(standard("other")), { name: "TypeError", message: /schema of other carries no JSON Schema/ });
  const refusing = { ...standard("other")["~standard"], jsonSchema: { input: () => assert.fail("a date is no JSON") } };
  t.throws(declare({ "~standard": refusing }), {
    name: "TypeError",
    message: /schema of other cannot be .*: a date is no JSON$/,
  });
  t.doesNotThrow(declare({ ...standard("zod"), type: "object", properties: {} }), "JSON Schema that zod has made");
  const asks = flow("asks", () => waitForInput("ok?", standard("zod")));
  const { state } = await runFlow(asks);
  t.match(state, { type: "Failed", message: /^TypeError: the schema of waitForInput\(\).*of zod cannot be used here/ });
});
