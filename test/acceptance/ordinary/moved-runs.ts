/**
 * People cancel, move, retry, answer and delete runs while server and engines are killed: no request fails without a reason, every
 * run ends, nothing stays held, no task run stays under way, and hooks are called for the end that the run has.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Millrace, MillraceError, type Run, type StateType } from "#sdk/client/index";
import { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import { acceptHome } from "../durable/sound-home.ts";
import { allRuns } from "../lineages.ts";
import { ENDED } from "../served-folder.ts";
import { DisturbedFolder } from "./disturbed-folder.ts";

const ALL = { db: 2, gpu: 2 };
const SETTINGS = `[resources]\ndb = ${ALL.db}\ngpu = ${ALL.gpu}\n`;
const FLOWS = { asks: 4, uses: 4, bounded: 3, skips: 1, limited: 1, repeats: 2 } as const;
const ACTS = { create: 10, cancel: 3, force: 3, retry: 3, delete: 2, resources: 1, wake: 1, pause: 2, answer: 1 } as const;
type Act = keyof typeof ACTS;
const FORCED: readonly StateType[] = ["Completed", "Failed", "Cancelled", "Crashed", "Scheduled", "Pending", "Paused", "Running"];
const DISTURBED_MS = 35_000;
const DISTURB_WITHIN_MS = 2_500;
/** Runs that a person has left Pending, Running or Paused are cancelled after this time. */
const LEFT_MS = 10_000;
const STUCK_MS = 40_000;
const NEWEST = 60;

export async function acceptMoved(folder: string, seed: number, check: Check): Promise<void> {
  const random = new Random(seed);
  const disturbed = await DisturbedFolder.start(folder, SETTINGS, random);
  const people = new People(disturbed, join(folder, `hooks-${seed}.txt`), random, check);
  const fromMs = performance.now();
  const isCalm = () => performance.now() > fromMs + DISTURBED_MS;
  const disturbing = (async () => {
    while (!isCalm()) {
      await pause(random.below(DISTURB_WITHIN_MS));
      await disturbed.disturb(random.chance(0.25) ? "server" : "engine");
    }
  })();
  try {
    while (!isCalm()) {
      await pause(random.below(120));
      if (disturbed.outages % 2 === 0) await people.act(random.weighted(ACTS));
      if (random.chance(0.2)) await people.answerQuestions();
    }
    await disturbing;
    await people.endAll();
    await people.verify();
    check.figure(`seed ${seed}: ${JSON.stringify(people.counts)}, ${JSON.stringify(disturbed.counts)}`);
  } finally {
    await disturbing;
    await disturbed.served.stop();
  }
  acceptHome(disturbed.home, check);
}

class People {
  readonly counts: Partial<Record<Act, number>> = {};
  readonly #disturbed: DisturbedFolder;
  readonly #hooks: string;
  readonly #random: Random;
  readonly #check: Check;
  /** Runs that a person may have moved. */
  readonly #moved = new Set<number>();

  constructor(disturbed: DisturbedFolder, hooks: string, random: Random, check: Check) {
    this.#disturbed = disturbed;
    this.#hooks = hooks;
    this.#random = random;
    this.#check = check;
    writeFileSync(hooks, "");
  }

  async act(act: Act): Promise<void> {
    const number = (this.counts[act] ?? 0) + 1;
    this.counts[act] = number;
    await this.#tolerating(act, async (client) => {
      if (act === "create") return await this.#create(`p${number}`);
      if (act === "resources") return await this.#setResources({ gpu: this.#random.below(4), db: this.#random.between(1, 3) });
      const runs = await client.runs.list({}, { pageSize: NEWEST }).first(NEWEST);
      if (runs.length > 0) await this.#move(client, act, this.#random.pick(runs));
    });
  }

  /** A request fails only with a refusal, or while the server is away. */
  async #tolerating(act: string, request: (client: Millrace) => Promise<void>): Promise<void> {
    const { outages } = this.#disturbed;
    try {
      await request(this.#disturbed.client);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      const isAway = error.status === 0 || error.status === 503;
      const wasUp = outages % 2 === 0 && outages === this.#disturbed.outages;
      if (isAway) this.#check.that(!wasUp, `${act} failed beside no outage: ${error.message}`);
      else this.#check.that([404, 409].includes(error.status), `${act} failed: ${error.status} ${error.message}`);
    }
  }

  async #create(path: string): Promise<void> {
    const parameters = { hooks: this.#hooks, path, n: this.#random.below(4), ms: this.#random.below(200) };
    await this.#disturbed.served.create(this.#random.weighted(FLOWS), [parameters]);
  }

  async #setResources(resources: Record<string, number>): Promise<void> {
    await this.#disturbed.client.patchSettings({ resources });
  }

  async #move(client: Millrace, act: Act, { id }: Run): Promise<void> {
    if (act !== "retry" && act !== "delete") this.#moved.add(id);
    if (act === "cancel") await client.runs.cancel(id);
    else if (act === "force") await client.runs.transition(id, { type: this.#random.pick(FORCED), force: true });
    else if (act === "pause") await client.runs.transition(id, { type: "Paused" });
    else if (act === "answer") await client.runs.resume(id, "early");
    else if (act === "retry") await client.runs.retry(id);
    else if (act === "wake") await client.runs.wake(id);
    else await client.runs.delete(id);
  }

  async answerQuestions(): Promise<void> {
    await this.#tolerating("an answer", async (client) => {
      for (const { id, state } of await client.runs.list({ state_type: "Paused" }, { pageSize: NEWEST }).first(NEWEST)) {
        const prompt = state.details?.["prompt"];
        if (typeof prompt === "string") await client.runs.resume(id, answerTo(prompt));
      }
    });
  }

  /** Until every run has ended; those that a person has left somewhere are cancelled. */
  async endAll(): Promise<void> {
    const { client } = this.#disturbed;
    await this.#setResources(ALL);
    for (const calmMs = performance.now(); ; await pause(300)) {
      const passedMs = performance.now() - calmMs;
      await this.answerQuestions();
      const open = (await allRuns(client)).filter(({ flow_name, state }) => flow_name in FLOWS && !ENDED.has(state.type));
      if (open.length === 0) return;
      for (const { id } of passedMs > LEFT_MS ? open.filter(({ id }) => this.#moved.has(id)) : [])
        await this.#tolerating("the end of a run", async () => {
          await client.runs.transition(id, { type: "Cancelled", force: true });
        });
      if (passedMs < STUCK_MS) continue;
      for (const { id, flow_name, state } of open)
        this.#check.that(false, `run ${id} of ${flow_name} is stuck: ${JSON.stringify([state, await client.runs.explain(id)])}`);
      return;
    }
  }

  async verify(): Promise<void> {
    const { client, served } = this.#disturbed;
    const [all] = await served.create("uses", [{ hooks: this.#hooks, path: "last", n: 0, ms: 10 }]);
    const last = await client.waitFor(all?.id ?? 0, { timeoutMs: STUCK_MS, reruns: true });
    this.#check.same(last.run.state.name, "Completed", "a run that needs resources, when no other holds any");
    const under = await client.taskRuns.list({ state_type: "Running" }).first(NEWEST);
    this.#check.same(
      under.flatMap(({ id, run_id, flow_name }) => (flow_name in FLOWS ? [[id, run_id]] : [])),
      [],
      "task runs under way",
    );
    const hooks = readFileSync(this.#hooks, "utf8").trim().split("\n");
    for (const run of await allRuns(client)) if (run.flow_name in FLOWS && !this.#moved.has(run.id)) this.#verifyRun(run, hooks);
  }

  #verifyRun({ id, flow_name, state, parameters }: Run, hooks: readonly string[]): void {
    const what = `run ${id} of ${flow_name}, ${state.name}`;
    if (flow_name === "asks" && state.type === "Completed") {
      const { path, n } = parameters as { path: string; n: number };
      const answers = Array.from({ length: n }, (_, k) => answerTo(`?${path}/${k}`));
      this.#check.same(state.details?.["result"], answers, `the answers of ${what}`);
    }
    const called = hooks.filter((line) => line.endsWith(` ${id}`));
    this.#check.same(
      called.filter((line) => line !== `${state.type} ${id}`),
      [],
      `hooks for other ends of ${what}`,
    );
    // A crash has its hook at least once, an end that an engine reports at most once.
    if (state.type === "Crashed") this.#check.that(called.length > 0, `${what}, has its hook`);
    else this.#check.that(called.length <= 1, `${what}, has its hook once`);
  }
}

function answerTo(prompt: string): string {
  return `the answer to ${prompt}`;
}
