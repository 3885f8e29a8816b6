/** POST /api/runs/{id}/cancel, and the enforcement when an engine does not end a cancelled or timed-out run itself. */

import { refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import type { Engine } from "../../core/state/engine.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { engineOf, holdingEngine, signalEngine } from "../engines/registered-engines.ts";
import { cancelState, plainState } from "./cancel-state.ts";
import { crashRun } from "./crash.ts";
import { moveRun } from "./move-run.ts";
import { endTasks } from "./moves.ts";

/** Time between SIGTERM and SIGKILL after a timeout. */
const TIMEOUT_KILL_US = 3_000_000;

export function cancelCommand(turn: Turn, command: Command): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  cancelRun(turn, run, null);
  turn.answers.run(command, 200, run);
}

/** A run in user code becomes Cancelling; any other unfinished run is cancelled at once; an ended run is unchanged. */
export function cancelRun(turn: Turn, run: Run, message: string | null): void {
  const state = cancelState(run, turn.nowUs, message);
  if (state !== null) moveRun(turn, run, state);
}

/** After the grace: sends SIGTERM to the process, unless its engine ends runs itself. */
export function cancelTerm(turn: Turn, run: Run): void {
  if (run.state.type !== "Cancelling") return;
  const engine = holdingEngine(turn, run);
  if (engine !== undefined && !engine.ownsStop) signalEngine(turn, engine, "SIGTERM");
}

/** After twice the grace: kills the process and cancels the run. */
export function cancelKill(turn: Turn, run: Run): void {
  if (run.state.type !== "Cancelling") return;
  const engine = holdingEngine(turn, run);
  if (engine !== undefined && !hasNeighbours(engine, run)) signalEngine(turn, engine, "SIGKILL");
  endTasks(turn, run, "Cancelled", "killed");
  moveRun(turn, run, plainState("Cancelled", turn.nowUs, "killed"));
}

/**
 * The flow's timeout, counted from the start at `started`, has passed; a later start has its own timer. Engines that end runs
 * themselves get twice the grace to do so; the runs of other engines fail at once.
 */
export function timeOut(turn: Turn, run: Run, started: number): void {
  const seconds = run.flow.options.timeoutSeconds;
  if (run.state.type !== "Running" || seconds === null || run.start_time === null) return;
  if (run.state.timestamp !== started) return;
  const engine = holdingEngine(turn, run);
  const { deadlines, settings } = turn.state;
  if (engine?.ownsStop) return deadlines.wait("timeout-kill", run.id, 2 * settings.cancelGraceUs, started);
  failTimedOut(turn, run, seconds);
  if (engine === undefined) return;
  signalEngine(turn, engine, "SIGTERM");
  deadlines.wait("timeout-kill", run.id, TIMEOUT_KILL_US, started);
}

/** The engine did not end in time after a timeout. */
export function timeoutKill(turn: Turn, run: Run, started: number): void {
  const engine = engineOf(turn, run);
  const seconds = run.flow.options.timeoutSeconds ?? 0;
  if (run.state.type === "Running") {
    if (run.state.timestamp !== started) return;
    failTimedOut(turn, run, seconds);
  } else if (run.state.name !== "TimedOut" || engine?.ownsStop === true) return;
  // An engine that has polled since then ended the run itself and may hold another run.
  if (engine === undefined || engine.poll !== null || engine.lastWorkUs > run.movedUs || hasNeighbours(engine, run)) return;
  signalEngine(turn, engine, "SIGKILL");
  for (const other of [...engine.runs.values()]) crashRun(turn, other, "its engine was killed");
}

/**
 * Whether other runs would be lost with the engine's process. Then the run ends in the store, and its engine, which owns the
 * stop of its runs, ends the code of this run without a signal.
 */
function hasNeighbours(engine: Engine, run: Run): boolean {
  // A run that has just ended is no longer among those that its engine holds.
  const itself = engine.runs.has(run.id) ? 1 : 0;
  return engine.exchanges && engine.runs.size > itself;
}

function failTimedOut(turn: Turn, run: Run, seconds: number): void {
  const message = `timed out after ${seconds} s`;
  endTasks(turn, run, "Cancelled", message);
  moveRun(turn, run, { type: "Failed", name: "TimedOut", timestamp: turn.nowUs, message, details: {} });
}
