/** `npm run load -- --durable`: what steps, sleeping runs and the ends of their sleeps cost the server. */
import { type Cleanup, started, withCleanup } from "../cleanup.ts";
import { figure } from "../figure.ts";
import type { MeasureContext, Measured, Mode } from "../mode.ts";
import { startOwnServer } from "../own-server.ts";
import type { Goal } from "../report/goal.ts";
import type { Part } from "../report/report.ts";
import { summarize } from "../report/summary.ts";
import { StandIn } from "../stand-in.ts";
import { targetRecord } from "../target.ts";
import { inTurns } from "../turns.ts";
import { DURABLE_FLOORS } from "./durable-floors.ts";
import { DURABLE_USAGE, type DurableOptions, type DurablePhase, parseDurableCommandLine } from "./durable-options.ts";
import { registerFlow } from "./durable-runs.ts";
import { measureEndedSleeps } from "./ended-sleeps.ts";
import { HOMES, prepareHomes, SLEEPING, type StartedHome } from "./sleeping-home.ts";
import { runStepSeries, SIDES, STORED } from "./step-cost.ts";

/** Before the first round: code and caches settle. */
const WARM_UP_SHARE = 0.25;
const SECOND_US = 1_000_000;

export const DURABLE: Mode = {
  usage: DURABLE_USAGE,
  parse(args) {
    const { options, output } = parseDurableCommandLine(args);
    return { output, options: (context) => withCleanup(context.interrupt, (cleanup) => measure({ options, context, cleanup })) };
  },
};

interface Measuring {
  options: DurableOptions;
  context: MeasureContext;
  cleanup: Cleanup;
}

async function measure(measuring: Measuring): Promise<Measured> {
  const { options, context, cleanup } = measuring;
  const standIn = new StandIn();
  cleanup(() => standIn.stop());
  const parts: Part[] = [];
  const { phases } = options;
  if (phases.includes("steps")) parts.push(await measureSteps(measuring, standIn.pid));
  if (phases.includes("sleeping")) parts.push(await measureSleeping(measuring, standIn.pid));
  const ends = phases.filter((phase) => phase === "evenly" || phase === "at-once");
  if (ends.length > 0) parts.push(await measureEnds(measuring, standIn.pid, ends));
  return { parts, goals: goalsOf(parts, context.command) };
}

function newPart({ options, context }: Measuring, title: string, phases: readonly string[], fact: string): Part {
  const facts = [fact, `${options.rounds} rounds; seed ${options.seed}`];
  return { title, command: context.command, facts, options, phases, rounds: options.rounds, targets: [], records: [] };
}

async function measureSteps(measuring: Measuring, pid: number): Promise<Part> {
  const { options, context, cleanup } = measuring;
  const { runs, steps, rounds, seed, durability, compiled } = options;
  const fact = `${runs} runs of ${steps} tasks on one engine with slots, each task reported alone; both sides share one server`;
  const part = newPart(measuring, "Stored steps", ["steps"], fact);
  const target = await started(cleanup, startOwnServer({ home: null, token: null, durability, compiled }));
  for (const side of SIDES) part.targets.push(targetRecord(target, side));
  await registerFlow(target, pid);
  const series = { target, pid, runs, steps, seed };
  for (const side of SIDES) {
    context.progress.step(`warming up, ${side}`);
    await runStepSeries({ ...series, runs: Math.ceil(runs * WARM_UP_SHARE) }, side);
  }
  for (let round = 1; round <= rounds; round++) {
    const serverUs = new Map<string, number>();
    for (const side of inTurns(SIDES, round)) {
      context.progress.step(`round ${round} of ${rounds}: steps, ${side}`);
      const { serverUs: us, figures, notes } = await runStepSeries(series, side);
      if (us !== null) serverUs.set(side, us);
      part.records.push({ phase: "steps", target: side, round, figures, notes });
    }
    const [stored, plain] = SIDES.map((side) => serverUs.get(side) ?? Number.NaN);
    const more = figure("server CPU of storing it", "us", Number(stored) - Number(plain));
    part.records.push({ phase: "steps", target: STORED, round, figures: more, notes: [] });
  }
  await target.stop();
  return part;
}

async function measureSleeping(measuring: Measuring, pid: number): Promise<Part> {
  const { options, context, cleanup } = measuring;
  const fact = `${options.sleeping} sleeping runs in one home, the flow alone in the other; memory 3 s after the first answer`;
  const part = newPart(measuring, "Sleeping runs", ["sleeping"], fact);
  context.progress.step(`putting ${options.sleeping} runs to sleep`);
  const homes = await prepareHomes(options, pid, (text) => context.progress.live(text), cleanup);
  for (let round = 1; round <= options.rounds; round++) {
    const results = new Map<string, StartedHome>();
    for (const home of inTurns(HOMES, round)) {
      context.progress.step(`round ${round} of ${options.rounds}: start, ${home}`);
      const result = await homes.start(home);
      results.set(home, result);
      const figures = [...figure("start", "s", result.startSeconds), ...figure("memory", "MB", result.memoryMb)];
      part.records.push({ phase: "sleeping", target: home, round, figures, notes: [] });
    }
    const [full, empty] = HOMES.map((home) => results.get(home));
    if (full === undefined || empty === undefined) continue;
    if (round === 1) part.targets.push(full.record, empty.record);
    const memory = full.memoryMb === null || empty.memoryMb === null ? null : full.memoryMb - empty.memoryMb;
    const figures = [
      ...figure("start longer by", "s", full.startSeconds - empty.startSeconds),
      ...figure("memory more", "MB", memory),
      ...(round === 1 ? homes.created : []),
    ];
    part.records.push({ phase: "sleeping", target: SLEEPING, round, figures, notes: [] });
  }
  return part;
}

async function measureEnds(measuring: Measuring, pid: number, phases: readonly DurablePhase[]): Promise<Part> {
  const { options, context, cleanup } = measuring;
  const { due, rounds, durability, compiled } = options;
  const fact = `${due} sleeps end; queued: the time of the event run.resumed; handed out: with an engine that waited`;
  const part = newPart(measuring, "Sleeps that end", phases, fact);
  const target = await started(cleanup, startOwnServer({ home: null, token: null, durability, compiled }));
  part.targets.push(targetRecord(target));
  await registerFlow(target, pid);
  const live = (text: string) => context.progress.live(text);
  for (let round = 1; round <= rounds; round++) {
    for (const phase of phases) {
      context.progress.step(`round ${round} of ${rounds}: ${phase}`);
      const result = await measureEndedSleeps(target, pid, due, phase === "evenly" ? SECOND_US : 0, live, cleanup);
      part.records.push({ phase, target: target.name, round, ...result });
    }
  }
  await target.stop();
  return part;
}

/** The floors of the phases that were measured, with what they hold for: the median of the rounds or the worst of them. */
function goalsOf(parts: readonly Part[], command: string): Goal[] {
  const lines = parts.flatMap((part) => summarize(part));
  return DURABLE_FLOORS.flatMap(({ phase, figure, of, ...floor }) => {
    const line = lines.find((each) => each.phase === phase && each.name === figure);
    if (line === undefined) return [];
    return [{ ...floor, measured: line.targets[0]?.[of] ?? null, interval: null, generatorUs: null, command }];
  });
}
