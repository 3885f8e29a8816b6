/**
 * Whatever creates runs creates each of them once, while server and engines are killed and requests are repeated: people, events
 * and rules, flows that follow, schedules, backfills, and runs that start others.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Millrace, Run } from "#sdk/client/index";
import { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import { acceptHome } from "../durable/sound-home.ts";
import { allRuns, isRepetition, lineagesOf } from "../lineages.ts";
import { ENDED } from "../served-folder.ts";
import { CreatedOnce, numbers } from "./created-once.ts";
import { DisturbedFolder } from "./disturbed-folder.ts";
import { RepeatedRequests } from "./repeated-requests.ts";

const CAUSES = { up: 6, go: 6, starter: 2, durable: 2, backfill: 1 } as const;
type Cause = keyof typeof CAUSES;
/** Of what `starter` and `durable` start. */
const STARTED = 3;
const DAYS = 20;
const FIRE_US = 1_000_000;
const STUCK_MS = 60_000;
/** For the runs that follow what ended last. */
const SETTLE_MS = 1_000;

export async function acceptCreated(folder: string, seed: number, check: Check): Promise<void> {
  const random = new Random(seed);
  const disturbed = await DisturbedFolder.start(folder, "", random);
  const flows = new Map((await disturbed.client.flows.list()).map(({ name, id }) => [name, id]));
  const causes = new RepeatedRequests(CAUSES, { random, check }, async (cause, n) => {
    await send(disturbed.client, flows, cause, n);
    return true;
  });
  try {
    await causes.sendWhileDisturbed(disturbed, 12);
    await allEnded(disturbed, check);
    await pause(SETTLE_MS);
    const runs = await allRuns(disturbed.client);
    verify(runs, causes.added, check);
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

async function send(client: Millrace, flows: ReadonlyMap<string, number>, cause: Cause, n: number): Promise<void> {
  const options = { idempotencyKey: `${cause} ${n}` };
  if (cause === "go") await client.events.emit({ name: "go", payload: { n } }, options);
  else if (cause === "backfill") {
    const period = { start: `${2000 + n}-01-01`, end: `${2000 + n}-01-${DAYS}`, concurrency: 3 };
    await client.backfills.create(flows.get("daily") ?? 0, { parameter: "day", ...period }, options);
  } else await client.runs.create({ project: "flows", flow: cause, parameters: { n } }, options);
}

function verify(runs: readonly Run[], { up, go, starter, durable, backfill }: Record<Cause, number>, check: Check): void {
  const created = new CreatedOnce(runs, check);
  const n = (run: Run) => run.parameters["n"];
  for (const flow of ["up", "down", "both"]) created.verify(flow, numbers(up), n);
  created.verify("ruled", numbers(go), n);
  const completed = runs.filter(({ flow_name, state }) => flow_name === "up" && state.type === "Completed");
  created.verify(
    "each",
    completed.map(({ name }) => name),
    (run) => run.parameters["of"],
  );
  created.verify("starter", numbers(starter), n);
  created.verify("durable", numbers(durable), n);
  const starters = [...numbers(starter).map((each) => `starter ${each}`), ...numbers(durable).map((each) => `durable ${each}`)];
  const startedBy = starters.flatMap((by) => numbers(STARTED).map((k) => `${by}: ${k}`));
  created.verify("started", startedBy, ({ parameters: { by, k } }) => `${String(by)}: ${String(k)}`);
  const days = numbers(backfill).flatMap((year) =>
    numbers(DAYS).map((day) => `${2000 + year}-01-${String(day + 1).padStart(2, "0")}`),
  );
  for (const flow of ["daily", "summary"]) created.verify(flow, days, (run) => run.parameters["day"]);
  const fires = runs.filter((run) => run.flow_name === "tick" && !isRepetition(run)).map(({ fire_time }) => fire_time ?? 0);
  const first = Math.min(...fires);
  created.verify(
    "tick",
    numbers(fires.length).map((at) => first + at * FIRE_US),
    ({ fire_time }) => fire_time,
  );
  const wrong = runs.filter(({ flow_name, state }) => flow_name !== "tick" && !["Completed", "Crashed"].includes(state.name));
  check.same(
    wrong.map(({ id, flow_name, state }) => [id, flow_name, state.name, state.message]),
    [],
    "runs that did not complete",
  );
}
