/** Creates runs with the downstream runs that follow at once, for every creator but an upstream run. */
import type { Flow } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { settleEnds } from "../durable/ends.ts";
import { createDownstreamRuns } from "./downstream.ts";
import { addRun, type NewRun, placeRun } from "./new-run.ts";

/** Creates a run and queues it, or ends it at once according to the flow's overlap policy. */
export function createRun(turn: Turn, flow: Flow, wanted: NewRun): Run {
  const run = addRun(turn, flow, wanted);
  createDownstreamRuns(turn);
  if (turn.ended.length > 0) settleEnds(turn);
  return run;
}

/** Queues a run that has its row already, or ends it at once. */
export function admitRun(turn: Turn, run: Run): void {
  placeRun(turn, run);
  createDownstreamRuns(turn);
  if (turn.ended.length > 0) settleEnds(turn);
}
