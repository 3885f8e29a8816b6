/** Options of `npm run load -- --real`, and their command line. */
import { parseArgs } from "node:util";
import { numberOf, UsageError } from "../options.ts";
import { WORKLOADS, type WorkloadName, type WorkloadSizes } from "./workloads.ts";

export interface RealOptions extends WorkloadSizes {
  workloads: readonly WorkloadName[];
  rounds: number;
  creators: number;
  limitSeconds: number;
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
  rounds: 3,
  creators: 32,
  limitSeconds: 900,
  serve: [],
  compare: null,
};

const RUNS_MAX = 1_000_000;
const SECONDS_MAX = 3_600;
const CREATORS_MAX = 1_000;
const ROUNDS_MAX = 1_000;
const TREE_PREFIX = "tree:";

export const REAL_USAGE = `usage: npm run load -- --real [options]

The compiled package serves flows with its own engines, as a user starts it (npm run build comes first). Time runs from the
first creation to the last end.

  --workloads LIST      of ${WORKLOADS.join(", ")} (all): nothing; 3 tasks with a log line each; a wait; a computation
  --runs N              runs of the workloads empty and tasks (${REAL_DEFAULTS.shortRuns})
  --waiting-runs N      runs of the workload waiting (${REAL_DEFAULTS.waitingRuns})
  --wait-seconds N      what each of them waits (${REAL_DEFAULTS.waitSeconds})
  --computing-runs N    runs of the workload computing (${REAL_DEFAULTS.computingRuns})
  --compute-seconds N   what each of them computes (${REAL_DEFAULTS.computeSeconds})
  --rounds N            repeats of every workload; medians are shown (${REAL_DEFAULTS.rounds})
  --creators N          clients that create runs (${REAL_DEFAULTS.creators})
  --limit-seconds N     a round that takes longer ends the measurement (${REAL_DEFAULTS.limitSeconds})
  --serve=OPTION        a further option of serve, with its value after another = or as another --serve; may be repeated
  --compare tree:PATH   another built checkout, measured in turns
  --json                JSON on standard output instead of the table
  --help                this text
`;

export interface RealCommandLine {
  options: RealOptions;
  json: boolean;
  help: boolean;
}

export function parseRealCommandLine(args: readonly string[]): RealCommandLine {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  let values: Record<string, string | boolean | string[] | undefined>;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        ...{ real: flag, json: flag, help: flag, workloads: text, runs: text, "waiting-runs": text, "wait-seconds": text },
        ...{ "computing-runs": text, "compute-seconds": text, rounds: text, creators: text, "limit-seconds": text },
        ...{ serve: { type: "string", multiple: true }, compare: text },
      },
    }));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const number = (name: string, fallback: number, max: number, min = 1) => {
    const value = values[name];
    return numberOf(name, typeof value === "string" ? value : undefined, fallback, min, max);
  };
  const options: RealOptions = {
    workloads: workloadsOf(values["workloads"]),
    shortRuns: number("runs", REAL_DEFAULTS.shortRuns, RUNS_MAX),
    waitingRuns: number("waiting-runs", REAL_DEFAULTS.waitingRuns, RUNS_MAX),
    waitSeconds: number("wait-seconds", REAL_DEFAULTS.waitSeconds, SECONDS_MAX, 0),
    computingRuns: number("computing-runs", REAL_DEFAULTS.computingRuns, RUNS_MAX),
    computeSeconds: number("compute-seconds", REAL_DEFAULTS.computeSeconds, SECONDS_MAX, 0),
    rounds: number("rounds", REAL_DEFAULTS.rounds, ROUNDS_MAX),
    creators: number("creators", REAL_DEFAULTS.creators, CREATORS_MAX),
    limitSeconds: number("limit-seconds", REAL_DEFAULTS.limitSeconds, SECONDS_MAX * 24),
    serve: Array.isArray(values["serve"]) ? values["serve"] : [],
    compare: treeOf(values["compare"]),
  };
  return { options, json: values["json"] === true, help: values["help"] === true };
}

function workloadsOf(list: string | boolean | string[] | undefined): readonly WorkloadName[] {
  if (typeof list !== "string") return REAL_DEFAULTS.workloads;
  return list.split(",").map((name) => {
    const found = WORKLOADS.find((workload) => workload === name.trim());
    if (found === undefined) throw new UsageError(`--workloads knows ${WORKLOADS.join(", ")}, not ${name}`);
    return found;
  });
}

function treeOf(value: string | boolean | string[] | undefined): string | null {
  if (typeof value !== "string") return null;
  if (!value.startsWith(TREE_PREFIX)) throw new UsageError(`--compare takes tree:PATH with --real, not ${value}`);
  return value.slice(TREE_PREFIX.length);
}
