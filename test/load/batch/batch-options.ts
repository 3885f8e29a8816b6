/** Options of `npm run load -- --batch`, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE } from "../command-line.ts";
import { DURABILITIES, type Durability } from "../options.ts";

/** Creation alone, while no engine takes runs; creation and execution at once. */
export const BATCH_PHASES = ["creation", "runs"] as const;
export type BatchPhase = (typeof BATCH_PHASES)[number];

export interface BatchOptions {
  /** Runs of one request. */
  batch: number;
  phases: readonly BatchPhase[];
  /** Runs of each series. */
  runs: number;
  engines: number;
  slots: number;
  creators: number;
  inFlight: number;
  rounds: number;
  seed: number;
  durability: Durability;
  compiled: boolean;
}

export const BATCH_DEFAULTS: BatchOptions = {
  batch: 1_000,
  phases: BATCH_PHASES,
  runs: 10_000,
  engines: 4,
  slots: 128,
  creators: 32,
  inFlight: 4_000,
  rounds: 3,
  seed: 1,
  durability: "normal",
  compiled: false,
};

const ENGINES_MAX = 4_000;
/** Both of the protocol. */
const SLOTS_MAX = 1_024;
const BATCH_MAX = 10_000;
const COUNT_MAX = 10_000_000;

export const BATCH_USAGE = `usage: npm run load -- --batch [options]

Creation by POST /api/runs/batch in turns with creation by POST /api/runs, on one server. The phase creation creates runs while no
engine takes them, and ends with the last answer. The phase runs is timed from the first creation to the last end; simulated
engines with slots execute bare runs.

  --batch-size N        runs of one request (${BATCH_DEFAULTS.batch})
  --phases LIST         of ${BATCH_PHASES.join(", ")} (both)
  --runs N              runs of each series (${BATCH_DEFAULTS.runs})
  --engines N           simulated engines (${BATCH_DEFAULTS.engines})
  --engine-slots N      runs that each of them holds at a time, at most (${BATCH_DEFAULTS.slots})
  --creators N          clients that create runs (${BATCH_DEFAULTS.creators})
  --in-flight N         in the phase runs: runs created and not yet finished, at most (${BATCH_DEFAULTS.inFlight})
  --rounds N            repeats of every series; medians are shown (${BATCH_DEFAULTS.rounds})
  --seed N              seed of texts and ids (${BATCH_DEFAULTS.seed})
  --durability X        normal or full (${BATCH_DEFAULTS.durability})
  --compiled            the compiled package instead of the sources (npm run build comes first)
${OUTPUT_USAGE}`;

const TEXTS = [
  ...["batch-size", "phases", "runs", "engines", "engine-slots", "creators", "in-flight", "rounds", "seed", "durability"],
];

export function parseBatchCommandLine(args: readonly string[]): CommandLine<BatchOptions> {
  const given = new Arguments(args, { texts: TEXTS, flags: ["compiled"] });
  const options: BatchOptions = {
    batch: given.number("batch-size", BATCH_DEFAULTS.batch, 2, BATCH_MAX),
    phases: given.choices("phases", BATCH_PHASES, BATCH_DEFAULTS.phases),
    runs: given.number("runs", BATCH_DEFAULTS.runs, 1, COUNT_MAX),
    engines: given.number("engines", BATCH_DEFAULTS.engines, 1, ENGINES_MAX),
    slots: given.number("engine-slots", BATCH_DEFAULTS.slots, 1, SLOTS_MAX),
    creators: given.number("creators", BATCH_DEFAULTS.creators, 1, ENGINES_MAX),
    inFlight: given.number("in-flight", BATCH_DEFAULTS.inFlight, 1, COUNT_MAX),
    rounds: given.number("rounds", BATCH_DEFAULTS.rounds, 1, COUNT_MAX),
    seed: given.number("seed", BATCH_DEFAULTS.seed, 0, COUNT_MAX),
    durability: given.choice("durability", DURABILITIES, BATCH_DEFAULTS.durability),
    compiled: given.flag("compiled"),
  };
  return { options, output: given.output };
}
