/** Files that are saved while a server with engines runs: a run created after a save executes the saved code, and only that. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { serveFlows } from "../support/served-flows.ts";

const EDITS = 50;

const flowsText = (n: number): string => `
  import { existsSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { flow } from "millrace";
  ${`import { word } from "./word.ts";`}
  const own: number = ${n};
  export const words = flow("words", async () => [own, word]);
  export const waits = flow("waits", async () => {
    while (!existsSync(new URL("../go", import.meta.url))) await sleep(5);
    return [own, word];
  });`;
const wordText = (n: number): string => `export const word: number = ${n};`;

async function served(t: Test) {
  const files = { "flows.ts": flowsText(0), "word.ts": wordText(0), "millrace.toml": "[server]\nmax_engines = 1\n" };
  const { root, dir, client } = await serveFlows(t, files);
  const flows = new Map((await client.flows.list()).map(({ name, id }) => [name, id]));
  const start = (flow: string) => client.flows.run(flows.get(flow) ?? 0);
  const result = async (id: number) => (await client.runs.waitFor<number[]>(id)).result;
  return { root, client, start, result, save: (name: string, text: string) => writeFileSync(join(dir, name), text) };
}

t.test("a run that is created at once after a save executes the saved code, each of fifty times", async (t) => {
  const { start, result, save } = await served(t);
  let own = 0;
  for (let n = 1; n <= EDITS; n += 1) {
    save("word.ts", wordText(n));
    if (n % 10 === 0) {
      own = n;
      save("flows.ts", flowsText(n));
    }
    const [first, second] = await Promise.all([start("words"), start("words")]);
    t.same(await Promise.all([result(first.id), result(second.id)]), Array(2).fill([own, n]));
  }
});

t.test("a run that executes ends with its code, and does not hold up a run with the saved code", async (t) => {
  const { root, client, start, result, save } = await served(t);
  const former = await start("waits");
  while ((await client.runs.get(former.id)).state.type !== "Running") await new Promise((resolve) => setTimeout(resolve, 20));
  save("word.ts", wordText(7));
  const saved = await start("words");
  t.same(await result(saved.id), [0, 7]);
  t.equal((await client.runs.get(former.id)).state.type, "Running");
  writeFileSync(join(root, "go"), "");
  t.same(await result(former.id), [0, 0]);
});
