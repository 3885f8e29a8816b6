/** Moves a run, for every caller but the creation of runs. */
import type { State } from "#protocol/records/state";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { createDownstreamRuns } from "../creation/downstream.ts";
import { settleEnds } from "../durable/ends.ts";
import { enterState, type Mover } from "./moves.ts";

/**
 * Moves a run into an accepted state, and creates the downstream runs that follow. `extra` holds additional payload keys of
 * the event.
 */
export function moveRun(
  turn: Turn,
  run: Run,
  state: State,
  extra: Record<string, unknown> | null = null,
  mover: Mover = "server",
): void {
  enterState(turn, run, state, extra, mover, false);
  createDownstreamRuns(turn);
  if (turn.ended.length > 0) settleEnds(turn);
}

/**
 * Moves a run regardless of the state table and of the engine that holds the run: forced to Scheduled, the run is taken from
 * its engine and queued. Readers see the force in the details of the state, where the caller has marked it.
 */
export function forceRun(
  turn: Turn,
  run: Run,
  state: State,
  extra: Record<string, unknown> | null = null,
  mover: Mover = "server",
): void {
  enterState(turn, run, state, extra, mover, true);
  createDownstreamRuns(turn);
  if (turn.ended.length > 0) settleEnds(turn);
}
