/** Options of the load generator, and their command line. */
import { parseArgs } from "node:util";

export const PHASES = ["idle", "steady", "burst", "park", "rest", "logs", "list"] as const;
export type PhaseName = (typeof PHASES)[number];

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
  durability: "normal" | "full";
  /** An address, `cereyan:<path of the program>` or `tree:<path of a checkout>`; null compares with nothing. */
  compare: string | null;
  /** Progress lines on stderr; null for none. */
  progress: ((line: string) => void) | null;
  /** Ends the test early, with everything that was started. */
  interrupt: AbortSignal | null;
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
  progress: null,
  interrupt: null,
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
  --store-runs N    ended runs in the new store of the started server (${DEFAULTS.storeRuns})
  --seed N          seed of texts, ids and outcomes (${DEFAULTS.seed})
  --url URL         a running server instead of one started for this; it gets many runs, so never one you need
  --token TEXT      bearer token of that server
  --home DIR        store of the started server, kept afterwards (default: a new one, removed)
  --durability X    normal or full, of the started server (${DEFAULTS.durability})
  --compare WHAT    a second server, measured in turns: an address, cereyan:<path of its program>, or tree:<path of
                    another checkout of this repository with its dependencies installed>
  --json            JSON on standard output instead of the table
  --real            real engines that execute flows, see --real --help
  --help            this text
`;

export class UsageError extends Error {}

export interface CommandLine {
  options: LoadOptions;
  json: boolean;
  help: boolean;
}

export function parseCommandLine(args: readonly string[]): CommandLine {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        ...{ engines: text, creators: text, "in-flight": text, seconds: text, runs: text, tasks: text, logs: text, phases: text },
        ...{
          rounds: text,
          burst: text,
          park: text,
          "seed-runs": text,
          "store-runs": text,
          seed: text,
          url: text,
          token: text,
          home: text,
        },
        ...{ durability: text, compare: text, "short-runs": flag, json: flag, help: flag },
      },
    }));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const number = (name: string, fallback: number, min: number, max: number) => numberOf(name, values[name], fallback, min, max);
  const word = (name: string) => (typeof values[name] === "string" ? values[name] : null);
  const engines = number("engines", DEFAULTS.engines, 1, ENGINES_MAX);
  const options: LoadOptions = {
    engines,
    creators: number("creators", DEFAULTS.creators, 1, ENGINES_MAX),
    inFlight: number("in-flight", DEFAULTS.inFlight, 1, COUNT_MAX),
    seconds: number("seconds", DEFAULTS.seconds, 0.1, SECONDS_MAX),
    runs: values["runs"] === undefined ? null : number("runs", 1, 1, COUNT_MAX),
    tasks: number("tasks", DEFAULTS.tasks, 0, LINES_MAX),
    logs: number("logs", DEFAULTS.logs, 0, LINES_MAX),
    shortRuns: values["short-runs"] === true,
    phases: phasesOf(word("phases")),
    rounds: number("rounds", DEFAULTS.rounds, 1, COUNT_MAX),
    burst: number("burst", DEFAULTS.burst, 1, COUNT_MAX),
    park: number("park", DEFAULTS.park, 1, PARK_MAX),
    seedRuns: number("seed-runs", 0, 0, COUNT_MAX),
    storeRuns: number("store-runs", DEFAULTS.storeRuns, 0, COUNT_MAX),
    seed: number("seed", DEFAULTS.seed, 0, COUNT_MAX),
    url: word("url"),
    token: word("token"),
    home: word("home"),
    durability: durabilityOf(word("durability")),
    compare: word("compare"),
    progress: null,
    interrupt: null,
  };
  if (options.url !== null && options.home !== null) throw new UsageError("--home is for a started server, not for --url");
  if (options.storeRuns > 0 && (options.url !== null || options.home !== null))
    throw new UsageError("--store-runs makes a new store: neither --url nor --home goes with it");
  return { options, json: values["json"] === true, help: values["help"] === true };
}

export function numberOf(name: string, value: string | boolean | undefined, fallback: number, min: number, max: number): number {
  if (value === undefined) return fallback;
  const number = Number(value);
  const whole = name.endsWith("seconds") || Number.isInteger(number);
  if (value === "" || !whole || !(number >= min && number <= max)) {
    throw new UsageError(`--${name} must be a number from ${min} to ${max}, not ${value}`);
  }
  return number;
}

function phasesOf(list: string | null): readonly PhaseName[] {
  if (list === null) return DEFAULTS.phases;
  if (list === "all") return PHASES;
  return list.split(",").map((name) => {
    const found = PHASES.find((phase) => phase === name.trim());
    if (found === undefined) throw new UsageError(`--phases knows ${PHASES.join(", ")} and all, not ${name}`);
    return found;
  });
}

function durabilityOf(value: string | null): "normal" | "full" {
  if (value === null) return DEFAULTS.durability;
  if (value !== "normal" && value !== "full") throw new UsageError(`--durability is normal or full, not ${value}`);
  return value;
}
