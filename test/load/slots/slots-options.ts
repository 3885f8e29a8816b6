/** Options of `npm run load -- --slots`, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE } from "../command-line.ts";
import { DURABILITIES, type Durability } from "../options.ts";

/** A bare run has no tasks and no log lines. */
export const WORKS = ["bare", "full"] as const;
export type Work = (typeof WORKS)[number];

/** Both sides of the comparison: how many engines there are, and what each of them holds. */
export interface SlotsOptions {
  engines: number;
  slots: number;
  /** Engines of the specified protocol beside them. */
  specifiedEngines: number;
  works: readonly Work[];
  /** Runs of each series. */
  runs: number;
  tasks: number;
  logs: number;
  creators: number;
  /** Runs of one request of a creator. */
  batch: number;
  /** Runs created and not yet finished, at most. */
  inFlight: number;
  rounds: number;
  seed: number;
  durability: Durability;
  compiled: boolean;
  /** Checkout whose engines with slots are measured in turns instead of the specified protocol, or null. */
  compare: string | null;
}

export const SLOTS_DEFAULTS: SlotsOptions = {
  engines: 4,
  slots: 128,
  specifiedEngines: 64,
  works: WORKS,
  runs: 20_000,
  tasks: 3,
  logs: 10,
  creators: 32,
  batch: 1,
  inFlight: 1_024,
  rounds: 3,
  seed: 1,
  durability: "normal",
  compiled: false,
  compare: null,
};

const ENGINES_MAX = 4_000;
/** Of the protocol. */
const SLOTS_MAX = 1_024;
const BATCH_MAX = 10_000;
const COUNT_MAX = 10_000_000;
const LINES_MAX = 5_000;

export const SLOTS_USAGE = `usage: npm run load -- --slots [options]

Simulated engines that hold many runs at a time and report all of them with one exchange, in turns with engines of the specified
protocol on the same server. A series of runs is timed from the first creation to the last end.

  --engines N           engines with slots (${SLOTS_DEFAULTS.engines})
  --engine-slots N      runs that each of them holds at a time, at most (${SLOTS_DEFAULTS.slots})
  --specified-engines N engines of the specified protocol, one run each (${SLOTS_DEFAULTS.specifiedEngines})
  --works LIST          of ${WORKS.join(", ")} (both): runs without tasks and log lines; runs with them
  --runs N              runs of each series (${SLOTS_DEFAULTS.runs})
  --tasks N             task runs of a full run (${SLOTS_DEFAULTS.tasks})
  --logs N              log lines of a full run, and one closing line (${SLOTS_DEFAULTS.logs})
  --creators N          clients that create runs (${SLOTS_DEFAULTS.creators})
  --batch-size N        runs that a client creates with one request, on both sides (${SLOTS_DEFAULTS.batch})
  --in-flight N         runs created and not yet finished, at most (${SLOTS_DEFAULTS.inFlight})
  --rounds N            repeats of every series; medians are shown (${SLOTS_DEFAULTS.rounds})
  --seed N              seed of texts and ids (${SLOTS_DEFAULTS.seed})
  --durability X        normal or full (${SLOTS_DEFAULTS.durability})
  --compiled            the compiled package instead of the sources (npm run build comes first)
  --compare tree:PATH   engines with slots on the server of another checkout, instead of the specified protocol
${OUTPUT_USAGE}`;

const TEXTS = [
  ...["engines", "engine-slots", "specified-engines", "works", "runs", "tasks", "logs", "creators", "batch-size", "in-flight"],
  ...["rounds", "seed", "durability", "compare"],
];

export function parseSlotsCommandLine(args: readonly string[]): CommandLine<SlotsOptions> {
  const given = new Arguments(args, { texts: TEXTS, flags: ["compiled"] });
  const options: SlotsOptions = {
    engines: given.number("engines", SLOTS_DEFAULTS.engines, 1, ENGINES_MAX),
    slots: given.number("engine-slots", SLOTS_DEFAULTS.slots, 1, SLOTS_MAX),
    specifiedEngines: given.number("specified-engines", SLOTS_DEFAULTS.specifiedEngines, 1, ENGINES_MAX),
    works: given.choices("works", WORKS, SLOTS_DEFAULTS.works),
    runs: given.number("runs", SLOTS_DEFAULTS.runs, 1, COUNT_MAX),
    tasks: given.number("tasks", SLOTS_DEFAULTS.tasks, 0, LINES_MAX),
    logs: given.number("logs", SLOTS_DEFAULTS.logs, 0, LINES_MAX),
    creators: given.number("creators", SLOTS_DEFAULTS.creators, 1, ENGINES_MAX),
    batch: given.number("batch-size", SLOTS_DEFAULTS.batch, 1, BATCH_MAX),
    inFlight: given.number("in-flight", SLOTS_DEFAULTS.inFlight, 1, COUNT_MAX),
    rounds: given.number("rounds", SLOTS_DEFAULTS.rounds, 1, COUNT_MAX),
    seed: given.number("seed", SLOTS_DEFAULTS.seed, 0, COUNT_MAX),
    durability: given.choice("durability", DURABILITIES, SLOTS_DEFAULTS.durability),
    compiled: given.flag("compiled"),
    compare: given.tree("compare"),
  };
  return { options, output: given.output };
}
