/** The floors of execution, and where each figure is measured: the table of docs/PERFORMANCE.md. */
import type { Floor } from "../report/goal.ts";
import type { StepName } from "./steps.ts";

export interface GoalFigure extends Floor {
  step: StepName;
  phase: string;
  /** Name of the figure in the report of that step. */
  figure: string;
  /** The median of this server, or its ratio to the one beside it. */
  of: "value" | "ratio";
  /** Converts the figure to the unit of the floor. */
  factor?: number;
}

const MB_PER_MIB = 1.048_576;

const atLeast = { better: "higher" } as const;
const atMost = { better: "lower" } as const;
const empty = { step: "empty", phase: "empty", of: "value" } as const;
const tasks = { step: "tasks", phase: "tasks", of: "value" } as const;
const waiting = { step: "waiting", phase: "waiting", of: "value" } as const;
const slots = { step: "slots", of: "value", figure: "runs" } as const;
const steady = { step: "specified", phase: "steady" } as const;
const idle = { step: "specified", phase: "idle", of: "value" } as const;
const both = "server and engine CPU per run";

export const GOAL_FIGURES: readonly GoalFigure[] = [
  { what: "Empty flow, real engines, default settings", unit: "runs/s", floor: 3_000, ...atLeast, ...empty, figure: "runs" },
  { what: "3 tasks with a log line each, the same", unit: "runs/s", floor: 1_500, ...atLeast, ...tasks, figure: "runs" },
  { what: "Server and engine CPU per empty run", unit: "us", floor: 450, ...atMost, ...empty, figure: both },
  { what: "Server and engine CPU per run of 3 tasks", unit: "us", floor: 900, ...atMost, ...tasks, figure: both },
  { what: "500 runs that wait 10 s, until all ended", unit: "s", floor: 15, ...atMost, ...waiting, figure: "until all ended" },
  {
    ...{ what: "The same: memory of all engines", unit: "MB", floor: 300, ...atMost, ...waiting },
    ...{ figure: "memory of all engines", factor: MB_PER_MIB },
  },
  {
    ...{ what: "Engine requests per empty run at saturation, creation apart", unit: "", floor: 0.3, ...atMost },
    ...{ step: "requests", phase: "empty", figure: "engine requests per run", of: "value" },
  },
  {
    // The start of an engine takes longer: a run that had to wait for one would show.
    ...{ what: "Longest wait of a run while engines are replaced after 200 runs each", unit: "ms", floor: 200, ...atMost },
    ...{ step: "recycling", phase: "empty", figure: "created to started max", of: "value" },
  },
  {
    ...{ what: "CPU of an engine's start until it asks for work", unit: "ms", floor: 250, ...atMost },
    ...{ step: "empty", phase: "engine start", figure: "CPU until the engine asks for work", of: "value" },
  },
  { what: "Simulated engines with slots, bare runs", unit: "runs/s", floor: 12_000, ...atLeast, ...slots, phase: "bare runs" },
  { what: "Simulated engines with slots, full runs", unit: "runs/s", floor: 5_000, ...atLeast, ...slots, phase: "full runs" },
  {
    ...{ what: "Specified protocol, 64 engines, full runs/s beside Cereyan", unit: "times", floor: 15, ...atLeast },
    ...{ ...steady, figure: "runs", of: "ratio" },
  },
  {
    ...{ what: "The same: server CPU per full run", unit: "us", floor: 320, ...atMost },
    ...{ ...steady, figure: "server CPU per run", of: "value" },
  },
  {
    ...{ what: "The same, beside Cereyan's", unit: "times", floor: 0.06, ...atMost },
    ...{ ...steady, figure: "server CPU per run", of: "ratio" },
  },
  { what: "Idle dispatch p50", unit: "ms", floor: 0.45, ...atMost, ...idle, figure: "dispatch p50" },
  { what: "Idle dispatch p99", unit: "ms", floor: 1.5, ...atMost, ...idle, figure: "dispatch p99" },
  {
    ...{ what: "Server memory under the full-run load", unit: "MiB", floor: 200, ...atMost },
    ...{ ...steady, figure: "server memory (runs)", of: "value" },
  },
];
