/**
 * `npm run load -- --slots`: simulated engines that hold many runs at a time, in turns with engines of the specified protocol.
 * Both sides share one server, and engines that have nothing to do wait.
 */
import { resolve } from "node:path";
import { type Cleanup, started, withCleanup } from "../cleanup.ts";
import { Fleet, type FleetSize } from "../fleet.ts";
import type { MeasureContext, Mode } from "../mode.ts";
import { startOwnServer } from "../own-server.ts";
import { prepareFleet } from "../prepare-fleet.ts";
import type { Part } from "../report/report.ts";
import { runSeries } from "../series.ts";
import { StandIn } from "../stand-in.ts";
import { type Target, targetRecord } from "../target.ts";
import { inTurns } from "../turns.ts";
import { parseSlotsCommandLine, SLOTS_USAGE, type SlotsOptions } from "./slots-options.ts";

/** Before the first round: code and caches settle. */
const WARM_UP_RUNS_MAX = 2_000;
const WARM_UP_SHARE = 0.1;

export const SLOTS: Mode = {
  usage: SLOTS_USAGE,
  parse(args) {
    const { options, output } = parseSlotsCommandLine(args);
    return { output, options: async (context) => ({ goals: [], parts: [await measureSlots(options, context)] }) };
  },
};

interface Side {
  name: string;
  target: Target;
  fleet: Fleet;
}

async function measureSlots(options: SlotsOptions, context: MeasureContext): Promise<Part> {
  const { engines, slots, specifiedEngines, tasks, logs, creators, batch, inFlight, rounds, runs, compare, seed } = options;
  const other = compare === null ? `specified protocol: ${specifiedEngines} engines` : "tree: the same on the other checkout";
  const created = batch === 1 ? "one by one" : `${batch} at a time`;
  const part: Part = {
    title: "Simulated engines with slots",
    command: context.command,
    facts: [
      `slots: ${engines} engines of up to ${slots} runs; ${other}`,
      `full runs have ${tasks} tasks and ${logs} log lines, bare runs none; ${rounds} rounds of ${runs} runs each; seed ${seed}`,
      `${creators} creators create runs ${created}, at most ${inFlight} in flight; time runs from the first creation to the last end`,
    ],
    options,
    phases: options.works.map((work) => `${work} runs`),
    rounds,
    targets: [],
    records: [],
  };
  await withCleanup(context.interrupt, (cleanup) => measure(options, part, context, cleanup));
  return part;
}

async function measure(options: SlotsOptions, part: Part, { progress }: MeasureContext, cleanup: Cleanup): Promise<void> {
  const sides = await startSides(options, cleanup);
  for (const { name, target } of sides) part.targets.push(targetRecord(target, name));
  const live = (text: string) => progress.live(text);
  for (const { name, target, fleet } of sides) {
    progress.step(`warming up, ${name}`);
    await runSeries({ target, fleet, live }, Math.ceil(Math.min(WARM_UP_RUNS_MAX, options.runs * WARM_UP_SHARE)));
  }
  for (let round = 1; round <= options.rounds; round++) {
    for (const work of options.works) {
      for (const { name, target, fleet } of inTurns(sides, round)) {
        const phase = `${work} runs`;
        progress.step(`round ${round} of ${options.rounds}: ${phase}, ${name}`);
        fleet.size.tasks = work === "bare" ? 0 : options.tasks;
        fleet.size.logs = work === "bare" ? 0 : options.logs;
        part.records.push({ phase, target: name, round, ...(await runSeries({ target, fleet, live }, options.runs)) });
      }
    }
  }
}

async function startSides(options: SlotsOptions, cleanup: Cleanup): Promise<Side[]> {
  const { engines, slots, specifiedEngines, creators, batch, inFlight, tasks, logs, durability, compiled, compare } = options;
  const standIn = new StandIn();
  cleanup(() => standIn.stop());
  const settings = { home: null, token: null, durability, compiled };
  const size = { engines, creators, inFlight, tasks, logs, shortRuns: false, slots, batch };
  const start = async (name: string, target: Target, fleetSize: FleetSize): Promise<Side> => {
    // Each side has a module of its own, so that its engines get only its runs.
    const flow = { ...target.flow, name: name.replaceAll(" ", "-"), module: `${target.flow.module}_${fleetSize.slots ?? 0}` };
    const fleet = new Fleet({ ...fleetSize }, flow, target.endpoint, standIn.pid, options.seed);
    cleanup(() => fleet.stop());
    await prepareFleet(fleet, name);
    return { name, target, fleet };
  };
  const own = await started(cleanup, startOwnServer(settings));
  const first = await start("slots", own, size);
  if (compare === null)
    return [first, await start("specified protocol", own, { ...size, engines: specifiedEngines, slots: null })];
  const tree = await started(cleanup, startOwnServer(settings, undefined, resolve(compare)));
  return [first, await start("tree", tree, size)];
}
