/** The floors of durable runs on the server, and the figures that are held against them. */
import type { Floor } from "../report/goal.ts";
import type { DurablePhase } from "./durable-options.ts";

export interface DurableFloor extends Floor {
  phase: DurablePhase;
  /** Name of the figure in the report of the phase. */
  figure: string;
  /** Of the rounds. */
  of: "median" | "most";
}

const atMost = { better: "lower", of: "median" } as const;

export const DURABLE_FLOORS: readonly DurableFloor[] = [
  { what: "Server CPU of storing a step", unit: "us", floor: 25, ...atMost, phase: "steps", figure: "server CPU of storing it" },
  { what: "100,000 sleeping runs: memory more", unit: "MB", floor: 60, ...atMost, phase: "sleeping", figure: "memory more" },
  { what: "The same: start longer by", unit: "s", floor: 1, ...atMost, phase: "sleeping", figure: "start longer by" },
  {
    ...{ what: "10,000 sleeps that end evenly over a second: due to queued p99", unit: "ms", floor: 100, ...atMost },
    ...{ phase: "evenly", figure: "due to queued p99" },
  },
  {
    ...{ what: "The same: due to handed out p99", unit: "ms", floor: 100, ...atMost },
    ...{ phase: "evenly", figure: "due to handed out p99" },
  },
  {
    ...{ what: "10,000 sleeps that end at one instant: all queued after", unit: "ms", floor: 2_000, ...atMost },
    ...{ phase: "at-once", figure: "all queued after" },
  },
  {
    ...{ what: "The same: slowest answer of the health check beside it, in all rounds", unit: "ms", floor: 100, ...atMost },
    ...{ phase: "at-once", figure: "health slowest", of: "most" },
  },
];
