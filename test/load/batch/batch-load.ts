/** `npm run load -- --batch`: runs created many with one request, in turns with runs created one by one. */
import { type Cleanup, started, withCleanup } from "../cleanup.ts";
import { distribution } from "../distribution.ts";
import { figure, latencyFigures } from "../figure.ts";
import { Fleet } from "../fleet.ts";
import { LoadFailed } from "../load-failed.ts";
import type { MeasureContext, Mode } from "../mode.ts";
import { startOwnServer } from "../own-server.ts";
import { failureNotes, type PhaseResult } from "../phases/phase.ts";
import { prepareFleet } from "../prepare-fleet.ts";
import type { Part } from "../report/report.ts";
import { runSeries } from "../series.ts";
import { StandIn } from "../stand-in.ts";
import { type Target, targetRecord } from "../target.ts";
import { inTurns } from "../turns.ts";
import { costFigures, openWindow } from "../window.ts";
import { BATCH_USAGE, type BatchOptions, type BatchPhase, parseBatchCommandLine } from "./batch-options.ts";

const DRAIN_LIMIT_MS = 600_000;
const SIDES = ["batch", "single"] as const;

export const BATCH: Mode = {
  usage: BATCH_USAGE,
  parse(args) {
    const { options, output } = parseBatchCommandLine(args);
    return { output, options: async (context) => ({ goals: [], parts: [await measureBatch(options, context)] }) };
  },
};

async function measureBatch(options: BatchOptions, context: MeasureContext): Promise<Part> {
  const { batch, creators, engines, slots, rounds, runs, inFlight, seed } = options;
  const part: Part = {
    title: "Runs created in batches",
    command: context.command,
    facts: [
      `batch: ${batch} runs with one request; single: one run with each; ${creators} creators`,
      `creation: no engine takes runs; runs: ${engines} simulated engines of up to ${slots} bare runs, at most ${inFlight} in flight`,
      `${rounds} rounds of ${runs} runs each; seed ${seed}`,
    ],
    options,
    phases: options.phases,
    rounds,
    targets: [],
    records: [],
  };
  await withCleanup(context.interrupt, (cleanup) => measure(options, part, context, cleanup));
  return part;
}

interface Measuring {
  options: BatchOptions;
  target: Target;
  standInPid: number;
  live: (text: string) => void;
  cleanup: Cleanup;
}

async function measure(options: BatchOptions, part: Part, { progress }: MeasureContext, cleanup: Cleanup): Promise<void> {
  const standIn = new StandIn();
  cleanup(() => standIn.stop());
  const { durability, compiled, rounds } = options;
  const target = await started(cleanup, startOwnServer({ home: null, token: null, durability, compiled }));
  for (const side of SIDES) part.targets.push(targetRecord(target, side));
  const measuring = { options, target, standInPid: standIn.pid, live: (text: string) => progress.live(text), cleanup };
  for (let round = 1; round <= rounds; round++) {
    for (const phase of options.phases) {
      for (const side of inTurns(SIDES, round)) {
        progress.step(`round ${round} of ${rounds}: ${phase}, ${side}`);
        const result = await measureSide(measuring, phase, side === "batch" ? options.batch : 1);
        part.records.push({ phase, target: side, round, ...result });
      }
    }
  }
}

async function measureSide(measuring: Measuring, phase: BatchPhase, batch: number): Promise<PhaseResult> {
  const { options, target, live } = measuring;
  const fleet = await newFleet(measuring, phase === "creation" ? Number.MAX_SAFE_INTEGER : options.inFlight, batch);
  try {
    return phase === "creation"
      ? await measureCreation(measuring, fleet)
      : await runSeries({ target, fleet, live }, options.runs);
  } finally {
    fleet.stop();
  }
}

/** A fleet with engines that are connected and whose flow is registered. */
async function newFleet({ options, target, standInPid, cleanup }: Measuring, inFlight: number, batch: number): Promise<Fleet> {
  const { engines, slots, creators, seed } = options;
  const size = { engines, slots, creators, inFlight, batch, tasks: 0, logs: 0, shortRuns: false };
  const fleet = new Fleet(size, target.flow, target.endpoint, standInPid, seed);
  cleanup(() => fleet.stop());
  await prepareFleet(fleet, target.name);
  return fleet;
}

/** Creates runs of a module that no engine asks for; afterwards engines execute them, so that each series finds an empty queue. */
async function measureCreation(measuring: Measuring, registered: Fleet): Promise<PhaseResult> {
  const { options, target, standInPid, live, cleanup } = measuring;
  registered.stop();
  const fleet = new Fleet(registered.size, registered.flow, registered.endpoint, standInPid, options.seed);
  cleanup(() => fleet.stop());
  const close = openWindow({ target, fleet, live }, ({ created }) => created);
  await fleet.create({ runsMax: options.runs, inFlight: Number.MAX_SAFE_INTEGER });
  const window = close();
  const { recorder, timeline } = window;
  await fleet.start();
  const isDrained = await fleet.until(() => fleet.inFlight === 0, DRAIN_LIMIT_MS);
  fleet.stop();
  if (!isDrained) throw new LoadFailed(`${fleet.inFlight} created runs were never finished`);
  return {
    figures: [
      ...costFigures(window, "created run", recorder.created),
      ...figure("requests", "", recorder.create.count),
      ...latencyFigures("request", recorder.create),
    ],
    notes: failureNotes(recorder.errors),
    timeline,
    distributions: distribution("request", recorder.create),
  };
}
