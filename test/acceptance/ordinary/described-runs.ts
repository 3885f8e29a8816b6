/**
 * Runs of random parts end as described, while server and engines are killed and stopped, the code is edited and runs are
 * cancelled: state, result, task runs, log lines and artifacts, and nobody holds more of a resource than there is.
 */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Millrace, MillraceError, type Run } from "#sdk/client/index";
import { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import { acceptHome } from "../durable/sound-home.ts";
import { allRuns, lineagesOf } from "../lineages.ts";
import type { Part } from "../ordinary-flows/parts.ts";
import { ENDED } from "../served-folder.ts";
import { DisturbedFolder } from "./disturbed-folder.ts";
import { artifactsOf, linesOf, RandomParts, resultOf, taskRunsOf } from "./random-parts.ts";

const SETTINGS = "[resources]\ndb = 2\ngpu = 1\nuplink = 1\n";
/** How many may hold what at a time. Leases take half of the uplink. */
const TOTALS: Readonly<Record<string, number>> = { db: 2, gpu: 1, uplink: 2, few: 2 };
const FLOWS = { mix: 8, few: 2, held: 3, alone: 1, apart: 1, again: 3, fails: 2, slow: 1 } as const;
const END_OF: Readonly<Partial<Record<keyof typeof FLOWS, string>>> = { fails: "Failed", slow: "TimedOut" };
const ACTS = { engine: 6, server: 1, stop: 3, edit: 2, cancel: 5, create: 8 } as const;
const RUNS_FIRST = 60;
const RUNS_MAX = 150;
const DISTURBED_MS = 30_000;
/** A run that has not ended so long after the last disturbance is stuck. */
const STUCK_MS = 60_000;

interface Planned {
  id: number;
  flow: keyof typeof FLOWS;
  name: string;
  parts: Part[];
  isCancelled: boolean;
}

export async function acceptDescribed(folder: string, seed: number, check: Check): Promise<void> {
  const random = new Random(seed);
  const disturbed = await DisturbedFolder.start(folder, SETTINGS, random);
  const runs = new DescribedRuns(disturbed, mkdtempSync(join(folder, "ordinary-notes-")), random);
  try {
    await runs.create(RUNS_FIRST);
    for (const fromMs = performance.now(); performance.now() < fromMs + DISTURBED_MS; ) {
      await pause(random.below(500));
      const kind = random.weighted(ACTS);
      if (kind === "create") await runs.create(random.between(1, 8));
      else if (kind === "cancel") await runs.cancelOne();
      else await disturbed.disturb(kind);
    }
    const calmMs = performance.now();
    while ((await runs.open()) > 0 && performance.now() < calmMs + STUCK_MS) await pause(200);
    const calm = Math.round(performance.now() - calmMs);
    await runs.verify(check);
    check.figure(
      `seed ${seed}: ${runs.count} runs, ${JSON.stringify(disturbed.counts)}, the last ended ${calm} ms after the last`,
    );
  } finally {
    await disturbed.served.stop();
  }
  acceptHome(disturbed.home, check);
}

class DescribedRuns {
  readonly #disturbed: DisturbedFolder;
  readonly #notes: string;
  readonly #held: string;
  readonly #random: Random;
  readonly #parts: RandomParts;
  readonly #planned: Planned[] = [];

  constructor(disturbed: DisturbedFolder, notes: string, random: Random) {
    this.#disturbed = disturbed;
    this.#notes = notes;
    this.#held = join(notes, "held.txt");
    this.#random = random;
    this.#parts = new RandomParts(random);
    writeFileSync(this.#held, "");
  }

  get count(): number {
    return this.#planned.length;
  }

  async create(count: number): Promise<void> {
    for (let left = Math.min(count, RUNS_MAX - this.count); left > 0; left -= 1) {
      const flow = this.#random.weighted(FLOWS);
      const name = `r${this.count}`;
      const file = join(this.#notes, `${name}.txt`);
      const parts = this.#parts.parts();
      writeFileSync(file, "");
      const [run] = await this.#disturbed.served.create(flow, [{ file, held: this.#held, id: name, parts }]);
      this.#planned.push({ id: run?.id ?? 0, flow, name, parts, isCancelled: false });
    }
  }

  async cancelOne(): Promise<void> {
    const planned = this.#random.pick(this.#planned);
    const last = lineagesOf(await allRuns(this.#disturbed.client))(planned.id).at(-1);
    if (last === undefined || ENDED.has(last.state.type)) return;
    try {
      await this.#disturbed.client.runs.cancel(last.id);
      planned.isCancelled = true;
    } catch (error) {
      // It has ended since.
      if (!(error instanceof MillraceError && error.status === 409)) throw error;
    }
  }

  /** How many have not ended, or are to be run again. */
  async open(): Promise<number> {
    const line = lineagesOf(await allRuns(this.#disturbed.client));
    const isOpen = (last: Run | undefined) => last === undefined || !ENDED.has(last.state.type) || last.state.type === "Crashed";
    return this.#planned.filter(({ id }) => isOpen(line(id).at(-1))).length;
  }

  async verify(check: Check): Promise<void> {
    const { client } = this.#disturbed;
    const line = lineagesOf(await allRuns(client));
    for (const planned of this.#planned) {
      const last = line(planned.id).at(-1);
      check.that(last !== undefined, `run ${planned.id} exists`);
      if (last !== undefined) await verifyRun(client, planned, last, check);
    }
    for (const text of overlaps(readFileSync(this.#held, "utf8"))) check.that(false, text);
  }
}

async function verifyRun(client: Millrace, planned: Planned, last: Run, check: Check): Promise<void> {
  const { flow, name, parts } = planned;
  const what = `run ${planned.id} (${last.id}) of ${flow} ${JSON.stringify(parts)}`;
  const taskRuns = await client.runs.tasks(last.id);
  const open = taskRuns.filter(({ state }) => !ENDED.has(state.type)).map((each) => each.name);
  check.same(open, [], `task runs under way after the end of ${what}`);
  const lines = (await client.runs.logs(last.id, {}, { pageSize: 500 }).first(10_000)).map(({ message }) => message);
  const told = lines.filter((line) => line.startsWith(`${name}/`));
  const expected = parts.flatMap((part) => linesOf(part, name));
  check.that(
    told.every((line) => expected.includes(line)),
    `lines of others in ${what}`,
  );
  if (last.state.type === "Cancelled") return check.that(planned.isCancelled, `nobody has cancelled ${what}`);
  const end = END_OF[flow] ?? "Completed";
  check.same(last.state.name, end, `the end (${last.state.message}) of ${what}`);
  if (last.state.name !== end || end === "TimedOut") return;
  if (end === "Completed")
    check.same(
      last.state.details?.["result"],
      parts.map((part) => resultOf(part, name)),
      `result of ${what}`,
    );
  else check.that(String(last.state.message).includes(`fails ${name}`), `the message ${last.state.message} of ${what}`);
  // Earlier attempts of the run have lines, task runs and artifacts of their own.
  if (flow === "again") return;
  check.same(
    taskRuns.length,
    parts.reduce((sum, part) => sum + taskRunsOf(part), 0),
    `task runs of ${what}`,
  );
  check.same([...told].sort(), [...expected].sort(), `lines of ${what}`);
  for (const part of new Set(told.map((line) => line.split(" ")[0])))
    check.same(
      told.filter((line) => line.startsWith(`${part} `)),
      expected.filter((line) => line.startsWith(`${part} `)),
      `the order of the lines of ${part} of ${what}`,
    );
  const keys = (await client.runs.artifacts(last.id)).map(({ key }) => key);
  check.same(keys.sort(), parts.flatMap(artifactsOf).sort(), `artifacts of ${what}`);
}

interface Hold {
  what: string;
  id: string;
  from: number;
  to: number;
}

/** Holds beyond the total that overlap for certain: a hold whose end was not noted ended with its process. */
function overlaps(notes: string): string[] {
  const holds: Hold[] = [];
  const open = new Map<string, Hold>();
  for (const [at, note] of notes.trim().split("\n").entries()) {
    const [verb, what = "", id = "", pid = ""] = note.split(" ");
    const key = `${what} ${id} ${pid}`;
    if (verb === "in") open.set(key, { what, id, from: at, to: -1 });
    const hold = verb === "out" ? open.get(key) : undefined;
    if (hold === undefined) continue;
    holds.push({ ...hold, to: at });
    open.delete(key);
  }
  return holds.flatMap((hold) => {
    const beside = holds.filter(({ what, from, to }) => what === hold.what && from <= hold.from && to > hold.from);
    if (beside.length <= (TOTALS[hold.what] ?? 0)) return [];
    return [`${beside.length} hold ${hold.what} at once: ${beside.map(({ id }) => id).join()}`];
  });
}
