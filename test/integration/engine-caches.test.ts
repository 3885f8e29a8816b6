/** What engines keep in the home for the next engine: flow files without their types. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { serveFlows } from "../support/served-flows.ts";

const FLOWS = `import { flow } from "millrace";

interface Order { amount: number }
const worth = (order: Order | null): number => { return (order as Order).amount; };
export const fails = flow("fails", async (): Promise<number> => worth(null));
export const pid = flow("pid", async () => [process.pid, "kept"]);
`;

t.test("the next engine uses what an earlier one stripped; tracebacks name the same lines", async (t) => {
  const files = { "flows.ts": FLOWS, "millrace.toml": "[server]\nmax_engines = 1\nengine_max_runs = 1\n" };
  const { home, client } = await serveFlows(t, files);
  const flows = new Map((await client.flows.list()).map(({ name, id }) => [name, id]));
  const ended = async (flow: string) =>
    await client.runs.waitFor<[number, string]>((await client.flows.run(flows.get(flow) ?? 0)).id);
  const traceback = async () => String((await ended("fails")).run.state.details["traceback"]);
  const first = await traceback();
  t.match(first, /at worth \(file:.*flows\.ts:4:74\)/);
  t.notMatch(first, /dist\//, "no frame of the engine");

  const folder = join(home, "cache", "stripped");
  const [name = "", ...more] = readdirSync(folder);
  t.same(more, []);
  t.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  const kept = join(folder, name);
  writeFileSync(kept, readFileSync(kept, "utf8").replace('"kept"', '"used"'));
  const [[former]] = [(await ended("pid")).result ?? [0, ""]];
  let [engine, word] = [former, ""];
  while (engine === former) [engine, word] = (await ended("pid")).result ?? [0, ""];
  t.equal(word, "used");
  t.equal(await traceback(), first);
});
