/** POST /api/engine/work: an engine asks for work; handles its parked poll to the end. */

import type { Command, CommandNotice } from "#protocol/wire/command";
import type { Engine } from "../../core/state/engine.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { takeJob } from "../engines/jobs.ts";
import {
  type EngineRequest,
  engineGone,
  findOrRegisterEngine,
  forgetEngine,
  isOfFormerProcess,
  keyOfRequest,
  mustLeave,
} from "../engines/registered-engines.ts";
import { crashRun } from "../states/crash.ts";
import { answerPoll, dispatch, noteProtocol, takeBack } from "./hand-out.ts";
import { renderAnswer, renderWorkItem } from "./work-item.ts";

/** An engine that polls without having reported on its running run for this long has abandoned the run. */
export const LEFT_AFTER_US = 5_000_000;

export function work(turn: Turn, command: Command<"Work">): void {
  const request = command.body;
  if (isOfFormerProcess(turn, request)) return turn.answers.text(command, 200, renderAnswer(null, [], true));
  replaceEngine(turn, request);
  const engine = findOrRegisterEngine(turn, request, command.local);
  if (engine.poll !== null) answerPoll(turn, engine.poll, []);
  noteProtocol(turn, engine, false);
  engine.exchange = 0;
  engine.lastContactUs = turn.state.uptimeUs();
  const held = settleHeldRuns(turn, engine);
  if (held !== null) {
    turn.state.rememberCommand(command.id, held);
    return turn.answers.text(command, 200, renderAnswer(null, [renderWorkItem(turn.state, held, engine)], false));
  }
  if (mustLeave(turn, engine)) {
    forgetEngine(turn, engine);
    return turn.answers.text(command, 200, renderAnswer(null, [], true));
  }
  const job = takeJob(turn, engine);
  if (job !== null) return turn.answers.text(command, 200, renderAnswer(null, [job.itemText], false));
  const poll = turn.state.queue.park(engine, command.id);
  dispatch(turn, turn.state.queue.of(engine.key));
  if (engine.poll === poll && (request.wait_ms ?? 0) === 0) answerPoll(turn, poll, []);
}

/** A poll from another process, or for another key, under a known engine id: the former engine is gone, and its runs end. */
export function replaceEngine(turn: Turn, request: EngineRequest): void {
  const known = turn.state.engines.get(request.engine_id);
  if (known === undefined || (known.pid === request.pid && known.key.text === keyOfRequest(turn, request).text)) return;
  const spawned = turn.state.pool.get(known.id);
  engineGone(turn, known.id, null);
  if (spawned !== undefined) turn.state.pool.set(spawned.id, spawned);
}

/**
 * An unacknowledged run is given to its engine again; a run that the engine abandoned (cancelling, or without contact)
 * crashes.
 */
function settleHeldRuns(turn: Turn, engine: Engine): Run | null {
  for (const run of [...engine.runs.values()]) {
    if (!run.acknowledged) return run;
    else if (run.state.type === "Cancelling") crashRun(turn, run, "left by its engine");
    else if (turn.state.uptimeUs() - run.lastContactUs >= LEFT_AFTER_US) crashRun(turn, run, "left by its engine");
  }
  return null;
}

/** Answers a parked engine at once with the order to leave. */
export function sendAway(turn: Turn, engine: Engine): void {
  if (engine.poll === null) return;
  const { poll } = engine;
  turn.state.queue.unpark(poll);
  turn.answers.poll(poll.command, renderAnswer(poll.exchange, [], true, [], poll.stops));
  // An engine that holds runs leaves after their ends.
  if (engine.runs.size === 0) forgetEngine(turn, engine);
}

/** A poll's waiting time is over, its client disconnected, or its answer could not be delivered. */
export function notice(turn: Turn, message: CommandNotice): void {
  if (message.kind === "Undelivered") return undelivered(turn, message.command);
  const poll = turn.state.queue.pollOf(message.command);
  if (poll === undefined) return;
  if (message.kind === "Abandoned") turn.state.queue.unpark(poll);
  else if (mustLeave(turn, poll.engine)) sendAway(turn, poll.engine);
  else answerPoll(turn, poll, []);
}

function undelivered(turn: Turn, command: number): void {
  for (const run of turn.state.runsOfCommand(command)) {
    if (run.assigned && !run.acknowledged) takeBack(turn, run);
    else run.repeatable = true;
  }
}
