/** Options of `npm run load -- --durable`, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE } from "../command-line.ts";
import { DURABILITIES, type Durability } from "../options.ts";

export const DURABLE_PHASES = ["steps", "sleeping", "evenly", "at-once"] as const;
export type DurablePhase = (typeof DURABLE_PHASES)[number];

export interface DurableOptions {
  phases: readonly DurablePhase[];
  /** Runs of each series with and without stored steps, and steps of each run. */
  runs: number;
  steps: number;
  /** Sleeping runs in the home that is started. */
  sleeping: number;
  /** Sleeping runs that are due within a second, or at one instant. */
  due: number;
  rounds: number;
  seed: number;
  durability: Durability;
  compiled: boolean;
}

export const DURABLE_DEFAULTS: DurableOptions = {
  phases: DURABLE_PHASES,
  runs: 400,
  steps: 50,
  sleeping: 100_000,
  due: 10_000,
  rounds: 3,
  seed: 1,
  durability: "normal",
  compiled: false,
};

const COUNT_MAX = 100_000;
const STEPS_MAX = 1_000;
const SEED_MAX = 10_000_000;

export const DURABLE_USAGE = `usage: npm run load -- --durable [options]

What durable runs cost the server, with simulated engines that hold many runs at a time. steps: runs whose steps are stored, in
turns with the same runs whose steps are not. sleeping: starts of a home with sleeping runs, in turns with an empty one. evenly:
sleeps that end evenly over one second. at-once: sleeps that end at one instant, and the health check beside them. Prints a table
of floors after the figures; the floors hold for the default sizes.

  --phases LIST         of ${DURABLE_PHASES.join(", ")} (all)
  --runs N              runs of each series of the phase steps (${DURABLE_DEFAULTS.runs})
  --steps N             steps of each of these runs (${DURABLE_DEFAULTS.steps})
  --sleeping N          sleeping runs of the home that is started (${DURABLE_DEFAULTS.sleeping})
  --due N               sleeping runs that are due within a second, or at one instant (${DURABLE_DEFAULTS.due})
  --rounds N            repeats of every phase; medians are shown (${DURABLE_DEFAULTS.rounds})
  --seed N              seed of ids (${DURABLE_DEFAULTS.seed})
  --durability X        normal or full (${DURABLE_DEFAULTS.durability})
  --compiled            the compiled package instead of the sources (npm run build comes first)
${OUTPUT_USAGE}`;

const TEXTS = ["phases", "runs", "steps", "sleeping", "due", "rounds", "seed", "durability"];

export function parseDurableCommandLine(args: readonly string[]): CommandLine<DurableOptions> {
  const given = new Arguments(args, { texts: TEXTS, flags: ["compiled"] });
  const options: DurableOptions = {
    phases: given.choices("phases", DURABLE_PHASES, DURABLE_DEFAULTS.phases),
    runs: given.number("runs", DURABLE_DEFAULTS.runs, 1, COUNT_MAX),
    steps: given.number("steps", DURABLE_DEFAULTS.steps, 1, STEPS_MAX),
    sleeping: given.number("sleeping", DURABLE_DEFAULTS.sleeping, 1, COUNT_MAX),
    due: given.number("due", DURABLE_DEFAULTS.due, 1, COUNT_MAX),
    rounds: given.number("rounds", DURABLE_DEFAULTS.rounds, 1, COUNT_MAX),
    seed: given.number("seed", DURABLE_DEFAULTS.seed, 0, SEED_MAX),
    durability: given.choice("durability", DURABILITIES, DURABLE_DEFAULTS.durability),
    compiled: given.flag("compiled"),
  };
  return { options, output: given.output };
}
