/** `npm run load -- --bullmq`: the empty flow on real engines, in turns with empty jobs on a BullMQ worker. */
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { type Cleanup, started, withCleanup } from "../cleanup.ts";
import type { MeasureContext, Mode } from "../mode.ts";
import type { PhaseResult } from "../phases/phase.ts";
import { startRealServer } from "../real/real-server.ts";
import { runRound } from "../real/workload-round.ts";
import type { Part } from "../report/report.ts";
import { inTurns } from "../turns.ts";
import { installBull } from "./bull-library.ts";
import { BullSide } from "./bull-side.ts";
import { BULLMQ_USAGE, type BullmqOptions, type Flush, parseBullmqCommandLine } from "./bullmq-options.ts";
import { redisVersion } from "./redis-server.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const DURABILITY = { everysec: "normal", always: "full" } as const;
const WARM_UP_RUNS_MAX = 1_000;
const WARM_UP_SHARE = 0.1;

export const BULLMQ: Mode = {
  usage: BULLMQ_USAGE,
  parse(args) {
    const { options, output } = parseBullmqCommandLine(args);
    return { output, options: async (context) => ({ goals: [], parts: [await measureBullmq(options, context)] }) };
  },
};

async function measureBullmq(options: BullmqOptions, context: MeasureContext): Promise<Part> {
  const { concurrency, creators, batch, runs, rounds, flushes, serve } = options;
  const redis = redisVersion();
  const created = batch === 1 ? "one by one" : `${batch} at a time`;
  const part: Part = {
    title: "Beside a BullMQ worker",
    command: context.command,
    facts: [
      `millrace: the empty flow on the engines of serve ${serve.length === 0 ? "with default settings" : serve.join(" ")}`,
      `bullmq: an empty job, one worker process with concurrency ${concurrency}; server: redis-server ${redis} with an append-only file`,
      `${creators} creators create ${created}; ${rounds} rounds of ${runs} runs each; time runs from the first creation to the last end`,
    ],
    options,
    phases: flushes.map(phaseOf),
    rounds,
    targets: [],
    records: [],
  };
  await withCleanup(context.interrupt, (cleanup) => measure(options, part, context, cleanup));
  return part;
}

function phaseOf(flush: Flush): string {
  return `${DURABILITY[flush]} / ${flush}`;
}

interface Side {
  name: string;
  round(runs: number): Promise<PhaseResult>;
}

async function measure(options: BullmqOptions, part: Part, context: MeasureContext, cleanup: Cleanup): Promise<void> {
  const { progress } = context;
  progress.step("installing BullMQ");
  if (options.folder !== null) mkdirSync(options.folder, { recursive: true });
  const library = installBull(options.folder === null ? null : resolve(options.folder));
  cleanup(() => library.stop());
  const durabilities = options.flushes.map((flush) => DURABILITY[flush]).join(", ");
  const sides = new Map<Flush, readonly Side[]>();
  for (const flush of options.flushes) {
    progress.step(`starting ${phaseOf(flush)}`);
    const { millrace, version, startMs } = await millraceSide(options, flush, context, cleanup);
    const bull = await started(cleanup, BullSide.start(library.folder, flush, options.concurrency));
    const bullmq = { name: "bullmq", round: (runs: number) => bull.round({ ...options, runs, progress }) };
    sides.set(flush, [millrace, bullmq]);
    if (part.targets.length > 0) continue;
    part.targets.push(
      { name: "millrace", version, durability: durabilities, start_ms: startMs },
      { name: "bullmq", version: library.version, durability: `appendfsync ${options.flushes.join(", ")}`, start_ms: null },
    );
  }
  for (const [flush, both] of sides)
    for (const side of both) {
      progress.step(`warming up, ${phaseOf(flush)}, ${side.name}`);
      await side.round(Math.ceil(Math.min(WARM_UP_RUNS_MAX, options.runs * WARM_UP_SHARE)));
    }
  for (let round = 1; round <= options.rounds; round++) {
    for (const [flush, both] of sides) {
      for (const side of inTurns(both, round)) {
        progress.step(`round ${round} of ${options.rounds}: ${phaseOf(flush)}, ${side.name}`);
        part.records.push({ phase: phaseOf(flush), target: side.name, round, ...(await side.round(options.runs)) });
      }
    }
  }
}

async function millraceSide(
  options: BullmqOptions,
  flush: Flush,
  context: MeasureContext,
  cleanup: Cleanup,
): Promise<{ millrace: Side; version: string; startMs: number }> {
  const settings = ["--durability", DURABILITY[flush], ...options.serve];
  const server = await started(cleanup, startRealServer("millrace", ROOT, settings));
  const sizes = { ...options, ...context, perSecond: null };
  const round = (runs: number) => runRound(server, "empty", { runs, parameters: {}, atLeast: 0 }, sizes);
  return { millrace: { name: "millrace", round }, version: server.version, startMs: server.startMs };
}
