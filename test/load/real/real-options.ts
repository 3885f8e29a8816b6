/** Options of `npm run load -- --real`, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE, UsageError } from "../command-line.ts";
import { WORKLOADS, type WorkloadName, type WorkloadSizes } from "./workloads.ts";

export interface RealOptions extends WorkloadSizes {
  workloads: readonly WorkloadName[];
  rounds: number;
  /** Starts of each server in each round; 0: one start for all rounds. */
  starts: number;
  /** Turns of each server in a round, or after each of its starts. */
  turns: number;
  creators: number;
  /** Runs of one request of a creator. */
  batch: number;
  /** Runs created per second, evenly; null for as many as the server accepts. */
  perSecond: number | null;
  limitSeconds: number;
  /** Count the requests of the engines, which takes a little of their time. */
  countRequests: boolean;
  /** Starts of an engine whose processor time is measured, in each round. */
  engineStarts: number;
  /** Share of the runs of the first server that are traced; null: no traces. */
  traces: number | null;
  /** Further options of `serve`. */
  serve: readonly string[];
  /** Checkout that is measured in turns, or null. */
  compare: string | null;
}

export const REAL_DEFAULTS: RealOptions = {
  workloads: WORKLOADS,
  shortRuns: 3_000,
  waitingRuns: 500,
  waitSeconds: 10,
  computingRuns: 20,
  computeSeconds: 1,
  children: 1_000,
  rounds: 3,
  starts: 0,
  turns: 1,
  creators: 32,
  batch: 1,
  perSecond: null,
  limitSeconds: 900,
  countRequests: false,
  engineStarts: 0,
  traces: null,
  serve: [],
  compare: null,
};

const RUNS_MAX = 1_000_000;
const SECONDS_MAX = 3_600;
const CREATORS_MAX = 1_000;
const ROUNDS_MAX = 1_000;
const STARTS_MAX = 100;
const BATCH_MAX = 10_000;

export const REAL_USAGE = `usage: npm run load -- --real [options]

The compiled package serves flows with its own engines, as a user starts it (npm run build comes first). Time runs from the
first creation to the last end.

  --workloads LIST      of ${WORKLOADS.join(", ")} (all): nothing; 3 tasks with a log line each; a wait; a computation;
                        nothing, many times; one run that calls this flow as many times
  --runs N              runs of the workloads empty and tasks (${REAL_DEFAULTS.shortRuns})
  --waiting-runs N      runs of the workload waiting (${REAL_DEFAULTS.waitingRuns})
  --wait-seconds N      what each of them waits (${REAL_DEFAULTS.waitSeconds})
  --computing-runs N    runs of the workload computing (${REAL_DEFAULTS.computingRuns})
  --compute-seconds N   what each of them computes (${REAL_DEFAULTS.computeSeconds})
  --children N          runs of the workload called, and calls of the one run of the workload children (${REAL_DEFAULTS.children})
  --rounds N            repeats of every workload; medians are shown (${REAL_DEFAULTS.rounds})
  --starts N            starts the servers N times in each round; the figures of a round are the means of its turns
                        (${REAL_DEFAULTS.starts}: one start for all rounds)
  --turns N             turns of each server in a round, or after each of these starts (${REAL_DEFAULTS.turns})
  --creators N          clients that create runs (${REAL_DEFAULTS.creators})
  --batch-size N        runs that a client creates with one request (${REAL_DEFAULTS.batch})
  --per-second N        runs created per second, evenly, instead of as many as the server accepts
  --count-requests      count the requests of the engines too, by a module that is loaded into them
  --engine-starts N     also starts an engine N times: its processor time until it asks for work (${REAL_DEFAULTS.engineStarts})
  --traces N            the engines of the first server send the traces of this share of runs to the load generator;
                        with --compare tree:. those of the second do not
  --limit-seconds N     a round that takes longer ends the measurement (${REAL_DEFAULTS.limitSeconds})
  --serve=OPTION        a further option of serve, with its value after another = or as another --serve; may be repeated
  --compare tree:PATH   another built checkout, measured in turns
${OUTPUT_USAGE}`;

const TEXTS = [
  ...["workloads", "runs", "waiting-runs", "wait-seconds", "computing-runs", "compute-seconds", "children"],
  ...["rounds", "starts", "turns"],
  ...["creators", "batch-size", "per-second", "limit-seconds", "engine-starts", "traces", "compare"],
];

export function parseRealCommandLine(args: readonly string[]): CommandLine<RealOptions> {
  const given = new Arguments(args, { texts: TEXTS, flags: ["count-requests"], lists: ["serve"] });
  const options: RealOptions = {
    workloads: given.choices("workloads", WORKLOADS, REAL_DEFAULTS.workloads),
    shortRuns: given.number("runs", REAL_DEFAULTS.shortRuns, 1, RUNS_MAX),
    waitingRuns: given.number("waiting-runs", REAL_DEFAULTS.waitingRuns, 1, RUNS_MAX),
    waitSeconds: given.number("wait-seconds", REAL_DEFAULTS.waitSeconds, 0, SECONDS_MAX),
    computingRuns: given.number("computing-runs", REAL_DEFAULTS.computingRuns, 1, RUNS_MAX),
    computeSeconds: given.number("compute-seconds", REAL_DEFAULTS.computeSeconds, 0, SECONDS_MAX),
    children: given.number("children", REAL_DEFAULTS.children, 1, RUNS_MAX),
    rounds: given.number("rounds", REAL_DEFAULTS.rounds, 1, ROUNDS_MAX),
    starts: given.number("starts", REAL_DEFAULTS.starts, 0, STARTS_MAX),
    turns: given.number("turns", REAL_DEFAULTS.turns, 1, STARTS_MAX),
    creators: given.number("creators", REAL_DEFAULTS.creators, 1, CREATORS_MAX),
    batch: given.number("batch-size", REAL_DEFAULTS.batch, 1, BATCH_MAX),
    perSecond: given.text("per-second") === null ? null : given.number("per-second", 1, 1, RUNS_MAX),
    limitSeconds: given.number("limit-seconds", REAL_DEFAULTS.limitSeconds, 1, SECONDS_MAX * 24),
    countRequests: given.flag("count-requests"),
    engineStarts: given.number("engine-starts", REAL_DEFAULTS.engineStarts, 0, ROUNDS_MAX),
    traces: given.share("traces"),
    serve: given.list("serve"),
    compare: given.tree("compare"),
  };
  if (options.starts > 0 && options.engineStarts > 0)
    throw new UsageError("--engine-starts needs servers that stay: leave out --starts");
  return { options, output: given.output };
}
