/**
 * Whatever creates runs creates each of them once, while server and engines are killed and requests are repeated: people, events
 * and rules, flows that follow, schedules, backfills, and runs that start others.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Millrace, MillraceError, type Run } from "#sdk/client/index";
import { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import { acceptHome } from "../durable/sound-home.ts";
import { allRuns, isRepetition, lineagesOf } from "../lineages.ts";
import { ENDED } from "../served-folder.ts";
import { DisturbedFolder } from "./disturbed-folder.ts";

const CAUSES = { up: 6, go: 6, starter: 2, durable: 2, backfill: 1 } as const;
type Cause = keyof typeof CAUSES;
/** Of what `starter` and `durable` start. */
const STARTED = 3;
const DAYS = 20;
const FIRE_US = 1_000_000;
const DISTURBED_MS = 30_000;
const STUCK_MS = 60_000;
/** For the runs that follow what ended last. */
const SETTLE_MS = 1_000;
const REPEAT_MS = 50;

export async function acceptCreated(folder: string, seed: number, check: Check): Promise<void> {
  const random = new Random(seed);
  const disturbed = await DisturbedFolder.start(folder, "", random);
  const causes = new Causes(disturbed, random, check);
  try {
    await causes.readFlows();
    for (const fromMs = performance.now(); performance.now() < fromMs + DISTURBED_MS; ) {
      for (let left = random.below(12); left > 0; left -= 1) causes.add();
      await pause(random.below(600));
      const kind = random.weighted({ none: 3, engine: 3, server: 3 });
      if (kind !== "none") await disturbed.disturb(kind);
    }
    await causes.sent();
    await allEnded(disturbed, check);
    await pause(SETTLE_MS);
    const runs = await allRuns(disturbed.client);
    causes.verify(runs);
    check.figure(`seed ${seed}: ${runs.length} runs, ${JSON.stringify(disturbed.counts)}, ${causes.repeated} requests repeated`);
  } finally {
    await disturbed.served.stop();
  }
  acceptHome(disturbed.home, check);
}

/** Schedules go on. */
async function allEnded(disturbed: DisturbedFolder, check: Check): Promise<void> {
  for (const untilMs = performance.now() + STUCK_MS; performance.now() < untilMs; ) {
    const runs = await allRuns(disturbed.client);
    const line = lineagesOf(runs);
    const isOpen = (run: Run) => {
      const last = line(run.id).at(-1);
      return run.flow_name !== "tick" && (last === undefined || !ENDED.has(last.state.type) || last.state.type === "Crashed");
    };
    if (!runs.some(isOpen)) return;
    await pause(500);
  }
  check.that(false, "all runs end");
}

class Causes {
  readonly #disturbed: DisturbedFolder;
  readonly #random: Random;
  readonly #check: Check;
  readonly #added: Record<Cause, number> = { up: 0, go: 0, starter: 0, durable: 0, backfill: 0 };
  readonly #sending = new Set<Promise<unknown>>();
  #flows = new Map<string, number>();
  repeated = 0;

  constructor(disturbed: DisturbedFolder, random: Random, check: Check) {
    this.#disturbed = disturbed;
    this.#random = random;
    this.#check = check;
  }

  async readFlows(): Promise<void> {
    this.#flows = new Map((await this.#disturbed.client.flows.list()).map(({ name, id }) => [name, id]));
  }

  /** Sends a request that creates something, or the same request twice at once. */
  add(): void {
    const cause = this.#random.weighted(CAUSES);
    const n = this.#added[cause];
    this.#added[cause] += 1;
    for (let times = this.#random.chance(0.3) ? 2 : 1; times > 0; times -= 1) {
      const sent = this.#send(cause, n);
      this.#sending.add(sent);
      void sent.then(() => this.#sending.delete(sent));
    }
  }

  async sent(): Promise<void> {
    await Promise.all(this.#sending);
  }

  async #send(cause: Cause, n: number): Promise<void> {
    for (;;) {
      try {
        await this.#request(this.#disturbed.client, cause, n);
        return;
      } catch (error) {
        const isAway = error instanceof MillraceError && (error.status === 0 || error.status === 503);
        if (!isAway) return this.#check.that(false, `${cause} ${n} was refused: ${String(error)}`);
        this.repeated += 1;
        await pause(REPEAT_MS);
      }
    }
  }

  async #request(client: Millrace, cause: Cause, n: number): Promise<void> {
    const options = { idempotencyKey: `${cause} ${n}` };
    if (cause === "go") await client.events.emit({ name: "go", payload: { n } }, options);
    else if (cause === "backfill") {
      const period = { start: `${2000 + n}-01-01`, end: `${2000 + n}-01-${DAYS}`, concurrency: 3 };
      await client.backfills.create(this.#flows.get("daily") ?? 0, { parameter: "day", ...period }, options);
    } else await client.runs.create({ project: "flows", flow: cause, parameters: { n } }, options);
  }

  verify(runs: readonly Run[]): void {
    const { up, go, starter, durable, backfill } = this.#added;
    const n = (run: Run) => run.parameters["n"];
    for (const flow of ["up", "down", "both"]) this.#once(runs, flow, numbers(up), n);
    this.#once(runs, "ruled", numbers(go), n);
    const completed = runs.filter(({ flow_name, state }) => flow_name === "up" && state.type === "Completed");
    this.#once(
      runs,
      "each",
      completed.map(({ name }) => name),
      (run) => run.parameters["of"],
    );
    this.#once(runs, "starter", numbers(starter), n);
    this.#once(runs, "durable", numbers(durable), n);
    const starters = [...numbers(starter).map((each) => `starter ${each}`), ...numbers(durable).map((each) => `durable ${each}`)];
    const startedBy = starters.flatMap((by) => numbers(STARTED).map((k) => `${by}: ${k}`));
    this.#once(runs, "started", startedBy, ({ parameters: { by, k } }) => `${String(by)}: ${String(k)}`);
    const days = numbers(backfill).flatMap((year) =>
      numbers(DAYS).map((day) => `${2000 + year}-01-${String(day + 1).padStart(2, "0")}`),
    );
    for (const flow of ["daily", "summary"]) this.#once(runs, flow, days, (run) => run.parameters["day"]);
    const fires = runs.filter((run) => run.flow_name === "tick" && !isRepetition(run)).map(({ fire_time }) => fire_time ?? 0);
    const first = Math.min(...fires);
    this.#once(
      runs,
      "tick",
      numbers(fires.length).map((at) => first + at * FIRE_US),
      ({ fire_time }) => fire_time,
    );
    const wrong = runs.filter(({ flow_name, state }) => flow_name !== "tick" && !["Completed", "Crashed"].includes(state.name));
    this.#check.same(
      wrong.map(({ id, flow_name, state }) => [id, flow_name, state.name, state.message]),
      [],
      "runs that did not complete",
    );
  }

  /** The runs of the flow that repeat no other one have these keys, each once. */
  #once(runs: readonly Run[], flow: string, keys: readonly unknown[], keyOf: (run: Run) => unknown): void {
    const found = runs.filter((run) => run.flow_name === flow && !isRepetition(run)).map((run) => String(keyOf(run)));
    const expected = new Set(keys.map(String));
    const seen = new Set<string>();
    const wrong = found.filter((key) => seen.size === seen.add(key).size || !expected.has(key));
    this.#check.same(wrong, [], `runs of ${flow} that were created twice or by nobody`);
    this.#check.same(
      [...expected].filter((key) => !seen.has(key)),
      [],
      `runs of ${flow} that were not created`,
    );
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}
