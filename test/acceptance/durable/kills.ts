/**
 * Server and engines are killed at random points of runs of 50 steps in two branches. Per run: at most one step per branch and
 * crash is repeated, none whose promise had resolved, and the result is that of an undisturbed run.
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Run } from "#sdk/client/index";
import type { Check } from "../check.ts";
import { ServedFolder } from "../served-folder.ts";
import { acceptHome } from "./sound-home.ts";

const RUNS_AT_ONCE = 40;
const BRANCHES = 2;
const STEPS = 25;
const RESULT = 1_000 * STEPS + STEPS * (STEPS - 1);
const SETTINGS = "[server]\ncrash_rerun_delay_secs = [0.05, 0.1]\n";
/** A kill comes at a random time within this after the one before. */
const KILL_WITHIN_MS = 900;
/** Every so many kills the server is killed, else an engine. */
const SERVER_EVERY = 4;

interface Noted {
  id: number;
  file: string;
}

export async function acceptKills(folder: string, kills: number, check: Check): Promise<void> {
  const home = mkdtempSync(join(folder, "kept-home-"));
  const notes = mkdtempSync(join(folder, "notes-"));
  let served = await ServedFolder.start(folder, { settings: SETTINGS, home });
  const runs: Noted[] = [];
  const ended = new Map<number, Run[]>();
  const killed = { server: 0, engine: 0 };
  const begin = async (count: number) => {
    const files = Array.from({ length: count }, (_, n) => join(notes, `${runs.length + n}.txt`));
    const created = await served.create(
      "branches",
      files.map((file) => ({ file, branches: BRANCHES, steps: STEPS })),
    );
    for (const [n, { id }] of created.entries()) runs.push({ id, file: files[n] ?? "" });
  };
  await begin(RUNS_AT_ONCE);
  while (killed.server + killed.engine < kills) {
    await pause(Math.random() * KILL_WITHIN_MS);
    if ((killed.server + killed.engine) % SERVER_EVERY === SERVER_EVERY - 1) {
      await served.kill();
      served = await ServedFolder.start(folder, { settings: SETTINGS, home });
      killed.server += 1;
    } else if (await served.killEngine()) killed.engine += 1;
    const live = (await served.client.runs.list({ states: ["Scheduled", "Pending", "Running"] }, { pageSize: 100 }).first(100))
      .length;
    if (live < RUNS_AT_ONCE) await begin(RUNS_AT_ONCE - live);
  }
  for (const { id } of runs) ended.set(id, await served.line(id));
  await served.stop();
  report(runs, ended, killed, check);
  acceptHome(home, check);
}

function report(
  runs: readonly Noted[],
  ended: ReadonlyMap<number, Run[]>,
  killed: { server: number; engine: number },
  check: Check,
): void {
  let repeated = 0;
  let crashes = 0;
  for (const { id, file } of runs) {
    const line = ended.get(id) ?? [];
    const last = line.at(-1);
    check.same([last?.state.name, last?.state.details?.["result"]], ["Completed", RESULT], `run ${id}`);
    const done = new Map<string, number>();
    const resolved = new Set<string>();
    for (const note of readFileSync(file, "utf8").split("\n")) {
      const [what, step = ""] = note.split(" ");
      if (what === "resolved") resolved.add(step);
      if (what !== "did") continue;
      check.that(!resolved.has(step), `run ${id}: step ${step} was repeated after its promise had resolved`);
      done.set(step, (done.get(step) ?? 0) + 1);
    }
    const again = [...done.values()].reduce((sum, count) => sum + count - 1, 0);
    check.same(done.size, BRANCHES * STEPS, `steps of run ${id}`);
    check.that(again <= BRANCHES * (line.length - 1), `run ${id}: ${again} steps repeated over ${line.length - 1} crashes`);
    repeated += again;
    crashes += line.length - 1;
  }
  check.figure(
    `${killed.server} kills of the server and ${killed.engine} of engines: ${runs.length} runs, ${crashes} crashes, ${repeated} of ${runs.length * BRANCHES * STEPS} steps repeated`,
  );
}
