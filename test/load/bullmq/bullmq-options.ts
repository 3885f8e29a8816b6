/** Options of `npm run load -- --bullmq`, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE } from "../command-line.ts";

/** How soon a change is on the disk: of Redis, with the setting of Millrace that promises as much. */
export const FLUSHES = ["everysec", "always"] as const;
export type Flush = (typeof FLUSHES)[number];

export interface BullmqOptions {
  flushes: readonly Flush[];
  runs: number;
  concurrency: number;
  creators: number;
  /** Runs, and jobs, of one request. */
  batch: number;
  rounds: number;
  limitSeconds: number;
  /** Further options of `serve`. */
  serve: readonly string[];
  /** Folder in which BullMQ is installed, or is to be; null uses a new one. */
  folder: string | null;
}

export const BULLMQ_DEFAULTS: BullmqOptions = {
  flushes: FLUSHES,
  runs: 10_000,
  concurrency: 50,
  creators: 32,
  batch: 1,
  rounds: 3,
  limitSeconds: 900,
  serve: [],
  folder: null,
};

const RUNS_MAX = 1_000_000;
const COUNT_MAX = 1_000;
const BATCH_MAX = 10_000;
const SECONDS_MAX = 86_400;

export const BULLMQ_USAGE = `usage: npm run load -- --bullmq [options]

The empty flow on the real engines of serve (compiled package, npm run build comes first), in turns with empty jobs on a BullMQ
worker. Time runs from the first creation to the last end, after a short warm-up of both.

redis-server must be installed (sudo apt-get install redis-server). The test starts one of its own on a free loopback port, with
an append-only file. BullMQ is installed by npm into a scratch folder.

  --flush LIST          of ${FLUSHES.join(", ")} (both): when Redis flushes its file; everysec stands beside Millrace with
                        --durability normal, always beside --durability full
  --runs N              runs, and jobs, of each series (${BULLMQ_DEFAULTS.runs})
  --concurrency N       jobs that the worker holds at a time (${BULLMQ_DEFAULTS.concurrency})
  --creators N          clients that create (${BULLMQ_DEFAULTS.creators})
  --batch-size N        runs, and jobs, that a client creates with one request (${BULLMQ_DEFAULTS.batch})
  --rounds N            repeats of every series; medians are shown (${BULLMQ_DEFAULTS.rounds})
  --limit-seconds N     a round that takes longer ends the measurement (${BULLMQ_DEFAULTS.limitSeconds})
  --serve=OPTION        a further option of serve; may be repeated
  --bullmq-folder DIR   where BullMQ is installed, or is to be; kept (a new folder, removed)
${OUTPUT_USAGE}`;

const TEXTS = ["flush", "runs", "concurrency", "creators", "batch-size", "rounds", "limit-seconds", "bullmq-folder"];

export function parseBullmqCommandLine(args: readonly string[]): CommandLine<BullmqOptions> {
  const given = new Arguments(args, { texts: TEXTS, lists: ["serve"] });
  const options: BullmqOptions = {
    flushes: given.choices("flush", FLUSHES, BULLMQ_DEFAULTS.flushes),
    runs: given.number("runs", BULLMQ_DEFAULTS.runs, 1, RUNS_MAX),
    concurrency: given.number("concurrency", BULLMQ_DEFAULTS.concurrency, 1, COUNT_MAX),
    creators: given.number("creators", BULLMQ_DEFAULTS.creators, 1, COUNT_MAX),
    batch: given.number("batch-size", BULLMQ_DEFAULTS.batch, 1, BATCH_MAX),
    rounds: given.number("rounds", BULLMQ_DEFAULTS.rounds, 1, COUNT_MAX),
    limitSeconds: given.number("limit-seconds", BULLMQ_DEFAULTS.limitSeconds, 1, SECONDS_MAX),
    serve: given.list("serve"),
    folder: given.text("bullmq-folder"),
  };
  return { options, output: given.output };
}
