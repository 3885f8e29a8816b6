/**
 * Hand-outs that an engine does not acknowledge although its process lives: the engine hangs, or the answer was lost.
 *
 * An engine that sends its lease loses the hand-out: later reports under that lease move no state. An engine that sends no
 * lease cannot be distinguished from the next holder, so the run stays with it as long as its process lives, and a warning is
 * logged.
 */
import { ACKNOWLEDGE_WAIT_US } from "#protocol/limits";
import type { Engine } from "../../core/state/engine.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { SERVER_LOG } from "../../names.ts";
import { signalEngine } from "../engines/registered-engines.ts";
import { addWarning, appendLogs, type LogsByRun } from "../reports/run-log.ts";
import { takeBack } from "./hand-out.ts";

export function checkHandOuts(turn: Turn, engine: Engine): void {
  const uptimeUs = turn.state.uptimeUs();
  for (const run of engine.runs.values()) {
    if (run.acknowledged || uptimeUs - run.lastContactUs < ACKNOWLEDGE_WAIT_US) continue;
    if (engine.ownsStop) takeFromHung(turn, run, engine);
    else if (engine.warnedOf !== run.assignment_id) warnOfHung(turn, run, engine);
  }
}

function takeFromHung(turn: Turn, run: Run, engine: Engine): void {
  tell(turn, run, engine, "the run goes to another engine");
  takeBack(turn, run);
  // The engine holds no other run, so kill it to free its place in the pool.
  if (engine.spawned && engine.runs.size === 0) signalEngine(turn, engine, "SIGKILL");
}

function warnOfHung(turn: Turn, run: Run, engine: Engine): void {
  engine.warnedOf = run.assignment_id;
  tell(turn, run, engine, "it sends no lease, so the run waits for it until its process ends");
}

function tell(turn: Turn, run: Run, engine: Engine, consequence: string): void {
  const seconds = ACKNOWLEDGE_WAIT_US / 1e6;
  const text = `engine ${engine.id} (pid ${engine.pid}) was handed run ${run.id} and has said nothing of it for ${seconds} s: ${consequence}`;
  const logs: LogsByRun = new Map();
  addWarning(turn, run, logs, text);
  appendLogs(turn, logs);
  turn.out.send(SERVER_LOG, { level: "warn", text });
}
