/** The two examples of the guide run to their end although server and engines are killed in the middle of each. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Check } from "../check.ts";
import { ServedFolder } from "../served-folder.ts";

const SETTINGS = "[server]\ncrash_rerun_delay_secs = [0.05, 0.1]\n";
const LOOK_MS = 50;

export async function acceptExamples(folder: string, check: Check): Promise<void> {
  const home = mkdtempSync(join(folder, "examples-home-"));
  let served = await ServedFolder.start(folder, { settings: SETTINGS, home });
  const killAll = async (engines: readonly (number | null)[]) => {
    for (const pid of new Set(engines)) if (pid !== null) killIfThere(pid);
    await served.kill();
    served = await ServedFolder.start(folder, { settings: SETTINGS, home });
  };
  const [order] = await served.create("order", [{ order: 7 }]);
  const [agent] = await served.create("agent", [{ wish: "paint" }]);
  const ids = [order?.id ?? 0, agent?.id ?? 0] as const;
  const engines = [await parked(served, ids[0]), await parked(served, ids[1])];
  await killAll(engines);
  const waiting = await Promise.all(ids.map(async (id) => (await served.client.runs.get(id)).state.name));
  check.same(waiting, ["AwaitingEvent", "Paused"], "the examples after a kill of server and engines");
  await served.client.events.emit({ name: "order.paid", payload: { order: 7 } });
  await served.client.runs.resume(ids[1], true);
  const held = await Promise.all(ids.map(async (id) => (await served.client.runs.get(id)).engine_pid));
  await killAll(held);
  const ended = await Promise.all(ids.map(async (id) => (await served.line(id)).at(-1)?.state));
  const results = ended.map((state) => state?.details?.["result"]);
  check.figure(`the examples over two kills of server and engines: ${JSON.stringify(results)}`);
  check.same(results, ["parcel of order 7", "done: order of 2 cans of no. 7"], "the examples' results");
  await served.stop();
}

/** The engine that had the run before the run left it. */
async function parked({ client }: ServedFolder, id: number): Promise<number | null> {
  for (;;) {
    const { state, engine_pid } = await client.runs.get(id);
    if (state.name === "Paused" || state.name === "AwaitingEvent") return engine_pid;
    await pause(LOOK_MS);
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended since.
  }
}
