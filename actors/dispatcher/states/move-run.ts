/** Moves a run, for every caller but the creation of runs. */
import type { State } from "#protocol/records/state";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { createDownstreamRuns } from "../creation/downstream.ts";
import { enterState } from "./moves.ts";

/**
 * Moves a run into an accepted state, and creates the downstream runs that follow. `extra` holds additional payload keys of
 * the event. When an engine moves its own run, the engine calls the hook.
 */
export function moveRun(
  turn: Turn,
  run: Run,
  state: State,
  extra: Record<string, unknown> | null = null,
  mover: "server" | "engine" = "server",
): void {
  enterState(turn, run, state, extra, mover);
  createDownstreamRuns(turn);
}
