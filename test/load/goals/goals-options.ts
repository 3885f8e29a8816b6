/** Options of `npm run load -- --goals`, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE, UsageError } from "../command-line.ts";

export interface GoalsOptions {
  /** Runs of each series of real engines. */
  runs: number;
  /** Runs of each series of simulated engines with slots. */
  slotsRuns: number;
  rounds: number;
  /** Length of the windows of the specified protocol. */
  seconds: number;
  engineStarts: number;
  waitingRuns: number;
  waitSeconds: number;
  /** `cereyan:` and the path of its program, or null. */
  compare: string | null;
}

export const GOALS_DEFAULTS: GoalsOptions = {
  runs: 10_000,
  slotsRuns: 20_000,
  rounds: 3,
  seconds: 5,
  engineStarts: 10,
  waitingRuns: 500,
  waitSeconds: 10,
  compare: null,
};

const COUNT_MAX = 1_000_000;
const SECONDS_MAX = 3_600;
const ROUNDS_MAX = 1_000;
const PEER_PREFIX = "cereyan:";

export const GOALS_USAGE = `usage: npm run load -- --goals [options]

Everything that the table of goals in docs/PERFORMANCE.md needs, in one sitting: real engines with default settings, the requests
of engines, runs that wait, simulated engines with slots, and the specified protocol. Prints that table after the figures: floor,
measured value, how often it contains the floor, and the command that measures it alone. The compiled package is measured
(npm run build comes first). The floors hold for the default sizes.

  --runs N                   runs of each series of real engines (${GOALS_DEFAULTS.runs})
  --slots-runs N             runs of each series of simulated engines with slots (${GOALS_DEFAULTS.slotsRuns})
  --rounds N                 repeats; medians are shown (${GOALS_DEFAULTS.rounds})
  --seconds N                windows of the specified protocol (${GOALS_DEFAULTS.seconds})
  --engine-starts N          starts of an engine whose processor time is measured (${GOALS_DEFAULTS.engineStarts})
  --waiting-runs N           runs that wait (${GOALS_DEFAULTS.waitingRuns})
  --wait-seconds N           what each of them waits (${GOALS_DEFAULTS.waitSeconds})
  --compare cereyan:PROGRAM  Cereyan beside the specified protocol: bin/cereyan of a Python environment in which
                             pip install cereyan==1.13.0 was run; without it two of the goals are not measured
${OUTPUT_USAGE}`;

const TEXTS = ["runs", "slots-runs", "rounds", "seconds", "engine-starts", "waiting-runs", "wait-seconds", "compare"];

export function parseGoalsCommandLine(args: readonly string[]): CommandLine<GoalsOptions> {
  const given = new Arguments(args, { texts: TEXTS });
  const compare = given.text("compare");
  if (compare !== null && !compare.startsWith(PEER_PREFIX))
    throw new UsageError(`--compare takes cereyan:PROGRAM with --goals, not ${compare}`);
  const options: GoalsOptions = {
    runs: given.number("runs", GOALS_DEFAULTS.runs, 1, COUNT_MAX),
    slotsRuns: given.number("slots-runs", GOALS_DEFAULTS.slotsRuns, 1, COUNT_MAX),
    rounds: given.number("rounds", GOALS_DEFAULTS.rounds, 1, ROUNDS_MAX),
    seconds: given.number("seconds", GOALS_DEFAULTS.seconds, 0.1, SECONDS_MAX),
    engineStarts: given.number("engine-starts", GOALS_DEFAULTS.engineStarts, 1, ROUNDS_MAX),
    waitingRuns: given.number("waiting-runs", GOALS_DEFAULTS.waitingRuns, 1, COUNT_MAX),
    waitSeconds: given.number("wait-seconds", GOALS_DEFAULTS.waitSeconds, 0, SECONDS_MAX),
    compare,
  };
  return { options, output: given.output };
}
