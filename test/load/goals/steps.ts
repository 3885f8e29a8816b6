/** The measurements that the table of goals needs, each a command of its own. */
import { SIMULATED } from "../load-test.ts";
import type { Mode } from "../mode.ts";
import { REAL } from "../real/real-load.ts";
import { SLOTS } from "../slots/slots-load.ts";
import type { GoalsOptions } from "./goals-options.ts";

export type StepName = "empty" | "tasks" | "requests" | "recycling" | "waiting" | "slots" | "specified";

export interface Step {
  name: StepName;
  mode: Mode;
  /** What selects the mode. */
  flags: readonly string[];
  args: readonly string[];
}

/** Runs for the count of requests: fewer, because a ratio needs no rounds. */
const REQUESTS_SHARE = 0.5;
/** Runs while engines are replaced: fewer, because they are created at a rate at which none waits for another. */
const RECYCLING_SHARE = 0.2;
const RECYCLING = ["--per-second", "200", "--serve=--engine-max-runs=200"];
/** With single creations the server would spend most of its time on them. */
const SLOTS_CREATION = ["--creators", "8", "--batch-size", "100", "--in-flight", "2048"];

export function stepsOf(options: GoalsOptions): readonly Step[] {
  const { runs, slotsRuns, rounds, seconds, engineStarts, waitingRuns, waitSeconds, compare } = options;
  const real = { mode: REAL, flags: ["--real"] };
  const roundsArgs = ["--rounds", String(rounds)];
  const runsArgs = ["--runs", String(runs)];
  const counted = ["--runs", String(Math.ceil(runs * REQUESTS_SHARE)), "--rounds", "1", "--count-requests"];
  const recycled = ["--runs", String(Math.ceil(runs * RECYCLING_SHARE)), ...RECYCLING, ...roundsArgs];
  const starts = ["--engine-starts", String(engineStarts)];
  const waits = ["--waiting-runs", String(waitingRuns), "--wait-seconds", String(waitSeconds), "--rounds", "1"];
  const window = ["--seconds", String(seconds)];
  return [
    // Flows of two modules would take the places of the pool from each other in each round.
    { name: "empty", ...real, args: ["--workloads", "empty", ...runsArgs, ...roundsArgs, ...starts] },
    { name: "tasks", ...real, args: ["--workloads", "tasks", ...runsArgs, ...roundsArgs] },
    { name: "requests", ...real, args: ["--workloads", "empty", ...counted] },
    { name: "recycling", ...real, args: ["--workloads", "empty", ...recycled] },
    { name: "waiting", ...real, args: ["--workloads", "waiting", ...waits] },
    {
      ...{ name: "slots", mode: SLOTS, flags: ["--slots"] },
      args: ["--compiled", "--runs", String(slotsRuns), ...SLOTS_CREATION, ...roundsArgs],
    },
    {
      ...{ name: "specified", mode: SIMULATED, flags: [] },
      args: [
        "--compiled",
        "--phases",
        "idle,steady",
        ...window,
        ...roundsArgs,
        ...(compare === null ? [] : ["--compare", compare]),
      ],
    },
  ];
}
