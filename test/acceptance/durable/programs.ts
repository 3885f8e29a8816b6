/**
 * Durable flows of random shape run to their ends while server and engines are killed. Per program: the result is that of an
 * undisturbed run, no step is done again after its promise had resolved, a race has one winner, and no child is left. Half of
 * the programs fail until a person retries them.
 */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Run } from "#sdk/client/index";
import { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import type { Part } from "../durable-flows/program.ts";
import { allRuns, lineagesOf } from "../lineages.ts";
import { ENDED, ServedFolder } from "../served-folder.ts";
import { CHILDLESS, fits, RandomProgram, resultOf } from "./random-program.ts";
import { Senders } from "./senders.ts";
import { acceptHome } from "./sound-home.ts";

/** Of one round, all at once. */
const PROGRAMS = 60;
const SETTINGS = "[server]\ncrash_rerun_delay_secs = [0.05, 0.1]\n";
/** A kill comes at a random time within this after the one before. */
const KILL_WITHIN_MS = 1_500;
/** Every so many kills the server is killed, else an engine. */
const SERVER_EVERY = 4;
/** Kills end after this time; a program that has not ended after as much again is stuck. */
const KILLS_FOR_MS = 40_000;

interface Planned {
  id: number;
  file: string;
  parts: Part[];
}

export async function acceptPrograms(folder: string, seed: number, check: Check): Promise<void> {
  const random = new Random(seed);
  const home = mkdtempSync(join(folder, "programs-home-"));
  const notes = mkdtempSync(join(folder, "programs-notes-"));
  let served = await ServedFolder.start(folder, { settings: SETTINGS, home });
  const planned: Planned[] = [];
  for (const flow of ["program", "mended"]) {
    const programs = Array.from({ length: PROGRAMS / 2 }, (_, n) => ({
      file: join(notes, `${flow}-${n}.txt`),
      parts: new RandomProgram(random).parts(flow === "mended" ? CHILDLESS : {}),
      path: "",
    }));
    for (const { file } of programs) writeFileSync(file, "");
    const created = await served.create(flow, programs);
    planned.push(...programs.map((program, n) => ({ ...program, id: created[n]?.id ?? 0 })));
  }
  const senders = new Senders(() => served.client, planned, random);
  const sending = senders.run();
  let kills = 0;
  try {
    const fromMs = performance.now();
    let open = planned.length;
    while (open > 0 && performance.now() < fromMs + 2 * KILLS_FOR_MS) {
      await pause(random.below(KILL_WITHIN_MS));
      if (performance.now() < fromMs + KILLS_FOR_MS) {
        kills += 1;
        if (kills % SERVER_EVERY === 0) {
          await served.kill();
          served = await ServedFolder.start(folder, { settings: SETTINGS, home });
        } else await served.killEngine(random.next());
      }
      const newest = lineagesOf(await allRuns(served.client));
      open = planned.filter(({ id }) => newest(id).some(isOpen)).length;
    }
    senders.stop();
    await sending;
    const newest = lineagesOf(await allRuns(served.client));
    for (const each of planned) verify(each, newest(each.id), check);
    const { states } = await served.client.runs.counts({});
    check.figure(`seed ${seed}: ${PROGRAMS} programs, ${kills} kills, runs by state ${JSON.stringify(states)}`);
    if (open > 0) return;
    const left = Object.keys(states).filter((name) => !ENDED.has(name));
    check.same(left, [], "states of runs when all programs have ended");
  } finally {
    senders.stop();
    await served.stop();
  }
  acceptHome(home, check);
}

function isOpen(run: Run, at: number, line: readonly Run[]): boolean {
  return at === line.length - 1 && run.state.name !== "Completed";
}

function verify({ id, file, parts }: Planned, line: readonly Run[], check: Check): void {
  const last = line.at(-1);
  const program = `run ${id} of ${JSON.stringify(parts)} with the notes ${file}`;
  check.same(last?.state.name, "Completed", `the end of ${program}: ${last?.state.message ?? ""}`);
  if (last?.state.name !== "Completed") return;
  const result = last.state.details?.["result"];
  const expected = parts.map((part) => resultOf(part, ""));
  check.that(fits(result, expected), `the result ${JSON.stringify(result)} of ${program}`);
  const resolved = new Set<string>();
  const winners = new Map<string, string>();
  for (const note of readFileSync(file, "utf8").split("\n")) {
    const [what, step = "", ...value] = note.split(" ");
    if (what === "resolved") resolved.add(step);
    if (what === "did")
      check.that(!resolved.has(step), `step ${step} was done again after its promise had resolved, in ${program}`);
    if (what !== "won") continue;
    const before = winners.get(step) ?? value.join(" ");
    check.same(value.join(" "), before, `the winner of ${step} in ${program}`);
    winners.set(step, before);
  }
}
