/** Options of the load generator, and their command line. */
import { Arguments, type CommandLine, OUTPUT_USAGE, UsageError } from "./command-line.ts";

export const PHASES = ["idle", "steady", "burst", "park", "rest", "logs", "list"] as const;
export type PhaseName = (typeof PHASES)[number];

export const DURABILITIES = ["normal", "full"] as const;
export type Durability = (typeof DURABILITIES)[number];

export interface LoadOptions {
  engines: number;
  creators: number;
  /** Runs created and not yet finished, at most. */
  inFlight: number;
  /** Length of each measured window. */
  seconds: number;
  /** Ends windows by count instead of by time. */
  runs: number | null;
  tasks: number;
  logs: number;
  /** Engines report the moves of a run inside reports, as the bundled engine does when the server accepts that. */
  shortRuns: boolean;
  phases: readonly PhaseName[];
  rounds: number;
  /** Runs of the burst phase. */
  burst: number;
  /** Polls of the park and rest phases. */
  park: number;
  /** Ended runs created before the first phase. */
  seedRuns: number;
  /** Ended runs written into the store of the started server before its start. */
  storeRuns: number;
  seed: number;
  /** A running server, or a program as in `compare`; null starts this repository's server. */
  url: string | null;
  token: string | null;
  home: string | null;
  durability: Durability;
  /** An address, `cereyan:<path of the program>`, `tree:<path of a checkout>` or `postgres`; null compares with nothing. */
  compare: string | null;
  /** Start the compiled package instead of the sources. */
  compiled: boolean;
  /** Read the metrics of the first server each second. */
  scrape: boolean;
  /** A reader of each server's event stream: the query of its filter, empty for the whole stream; null for none. */
  stream: string | null;
}

export const DEFAULTS: LoadOptions = {
  engines: 64,
  creators: 32,
  inFlight: 512,
  seconds: 5,
  runs: null,
  tasks: 3,
  logs: 10,
  shortRuns: false,
  phases: ["idle", "steady"],
  rounds: 3,
  burst: 10_000,
  park: 10_000,
  seedRuns: 0,
  storeRuns: 0,
  seed: 1,
  url: null,
  token: null,
  home: null,
  durability: "normal",
  compare: null,
  compiled: false,
  scrape: false,
  stream: null,
};

/** Limits of the numbers: what one process and one machine can handle. */
const ENGINES_MAX = 4_000;
const SECONDS_MAX = 3_600;
const COUNT_MAX = 10_000_000;
const PARK_MAX = 40_000;
const LINES_MAX = 5_000;

export const USAGE = `usage: npm run load -- [options]

  --engines N       simulated engines, each with a connection of its own (${DEFAULTS.engines})
  --creators N      clients that create runs (${DEFAULTS.creators})
  --in-flight N     runs created and not yet finished, at most (${DEFAULTS.inFlight})
  --seconds N       length of each measured window (${DEFAULTS.seconds})
  --runs N          ends windows after N runs instead of after --seconds
  --tasks N         task runs in each run (${DEFAULTS.tasks})
  --logs N          log lines in each run, and one closing line (${DEFAULTS.logs}); --tasks 0 --logs 0 is a bare run
  --short-runs      engines put the moves of a run into its reports, as those of this project do: four requests instead of seven
  --phases LIST     of ${PHASES.join(", ")}, or all (${DEFAULTS.phases.join(",")})
  --rounds N        repeats of every phase; medians are shown (${DEFAULTS.rounds})
  --burst N         backlog of the burst phase (${DEFAULTS.burst})
  --park N          waiting polls of the park and rest phases (${DEFAULTS.park})
  --seed-runs N     ended runs made before the first phase (${DEFAULTS.seedRuns})
  --store-runs N    ended runs in the new store of the started server, and in that of --compare tree or postgres (${DEFAULTS.storeRuns})
  --seed N          seed of texts, ids and outcomes (${DEFAULTS.seed})
  --url URL         a running server instead of one started for this; it gets many runs, so never one you need
  --token TEXT      bearer token of that server
  --home DIR        store of the started server, kept afterwards (default: a new one, removed)
  --durability X    normal or full, of the started server (${DEFAULTS.durability})
  --compare WHAT    a second server, measured in turns: an address, cereyan:<path of its program>, tree:<path of
                    another checkout of this repository with its dependencies installed>, or postgres: the same server
                    on a PostgreSQL that is started for it, whose CPU is counted
  --compiled        the started servers are those of the compiled packages (npm run build comes first)
  --scrape          reads the metrics of the first server each second; with --compare tree:. those of the second are not read
  --stream QUERY    reads the event stream of each server with this filter, such as run_id=1, or all of it: --stream all
  --real            real engines that execute flows
  --slots           simulated engines that hold many runs and exchange many reports at a time
  --batch           runs created many at a time
  --bullmq          real engines beside a BullMQ worker
  --goals           everything that the table of goals needs, in one sitting; each of these five has its own --help
${OUTPUT_USAGE}`;

const TEXTS = [
  ...["engines", "creators", "in-flight", "seconds", "runs", "tasks", "logs", "phases", "rounds", "burst", "park", "seed-runs"],
  ...["store-runs", "seed", "url", "token", "home", "durability", "compare", "stream"],
];

export function parseCommandLine(args: readonly string[]): CommandLine<LoadOptions> {
  const given = new Arguments(args, { texts: TEXTS, flags: ["short-runs", "compiled", "scrape"] });
  const options: LoadOptions = {
    engines: given.number("engines", DEFAULTS.engines, 1, ENGINES_MAX),
    creators: given.number("creators", DEFAULTS.creators, 1, ENGINES_MAX),
    inFlight: given.number("in-flight", DEFAULTS.inFlight, 1, COUNT_MAX),
    seconds: given.number("seconds", DEFAULTS.seconds, 0.1, SECONDS_MAX),
    runs: given.text("runs") === null ? null : given.number("runs", 1, 1, COUNT_MAX),
    tasks: given.number("tasks", DEFAULTS.tasks, 0, LINES_MAX),
    logs: given.number("logs", DEFAULTS.logs, 0, LINES_MAX),
    shortRuns: given.flag("short-runs"),
    phases: given.choices("phases", PHASES, DEFAULTS.phases),
    rounds: given.number("rounds", DEFAULTS.rounds, 1, COUNT_MAX),
    burst: given.number("burst", DEFAULTS.burst, 1, COUNT_MAX),
    park: given.number("park", DEFAULTS.park, 1, PARK_MAX),
    seedRuns: given.number("seed-runs", 0, 0, COUNT_MAX),
    storeRuns: given.number("store-runs", DEFAULTS.storeRuns, 0, COUNT_MAX),
    seed: given.number("seed", DEFAULTS.seed, 0, COUNT_MAX),
    url: given.text("url"),
    token: given.text("token"),
    home: given.text("home"),
    durability: given.choice("durability", DURABILITIES, DEFAULTS.durability),
    compare: given.text("compare"),
    compiled: given.flag("compiled"),
    scrape: given.flag("scrape"),
    stream: given.text("stream") === "all" ? "" : given.text("stream"),
  };
  if (options.url !== null && options.home !== null) throw new UsageError("--home is for a started server, not for --url");
  if (options.storeRuns > 0 && (options.url !== null || options.home !== null))
    throw new UsageError("--store-runs makes a new store: neither --url nor --home goes with it");
  return { options, output: given.output };
}
