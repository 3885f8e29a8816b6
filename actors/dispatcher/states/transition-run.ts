/** POST /api/runs/{id}/transition: a move requested by an engine or a person; and the same move as an event of a report. */

import { type Refusal, refuse, refuseStaleLease, refuseTransition } from "#protocol/errors";
import type { RunTransitionReport } from "#protocol/records/engine";
import { TransitionBody } from "#protocol/records/run";
import { isTerminal, type State } from "#protocol/records/state";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { lackOfRoom } from "../creation/lack-of-room.ts";
import { successorOf } from "../durable/lineages.ts";
import { touchContact } from "../engines/contact.ts";
import { holdAgain } from "../hand-out/hand-out.ts";
import { isStorableTime, timeOfMove } from "../reports/reported-time.ts";
import { crashRun, ENGINE_EXITED } from "./crash.ts";
import { forceRun, moveRun } from "./move-run.ts";
import type { Mover } from "./moves.ts";
import { decideTransition, stateNameOf } from "./transition.ts";

export function transitionRun(turn: Turn, command: Command): void {
  const body = parseBody(turn, command, TransitionBody);
  if (body === undefined) return;
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  const force = body.force === true;
  const lease = body.lease ?? null;
  if (lease !== null && !force && lease !== run.assignment_id)
    return turn.answers.refuse(command, refuseStaleLease(run.id, run.state));
  const sent = lease === null ? null : (body.timestamp ?? null);
  if (isRepetition(run, body, lease !== null, sent ?? turn.nowUs)) {
    run.repeatable = false;
    return turn.answers.run(command, 200, run);
  }
  // The lease has ended, because the run paused or was taken back. An ended run gets the more specific refusal of its
  // transition.
  if (lease !== null && !force && !run.assigned && !isEnded(run))
    return turn.answers.refuse(command, refuseStaleLease(run.id, run.state));
  const timestamp = sent === null ? turn.nowUs : timeOfMove(turn, run, sent);
  const decision = decideTransition(run.state, { ...body, timestamp }, turn.nowUs, force);
  if (!decision.accepted) return turn.answers.refuse(command, refuseTransition(decision.reason, body.type, run.state));
  const refusal = isEnded(run) && !isTerminal(decision.state.type) ? refuseReturn(turn, run) : null;
  if (refusal !== null) return turn.answers.refuse(command, refusal);
  if (lease !== null || !isUnbegun(turn, run, decision.state)) touchContact(turn, run);
  run.repeatable = false;
  turn.state.rememberCommand(command.id, run);
  applyMove(turn, run, decision.state, force, lease === null ? "server" : "engine");
  if (lease === null && !force && run.state.type === "Running") holdAgain(turn, run);
  turn.answers.run(command, 200, run);
}

/**
 * A person moved a run that its engine has not begun: an engine that exchanges sends its lease with every move, so the engine may
 * not know of the run yet, and gets the run again.
 */
function isUnbegun({ state }: Turn, run: Run, next: State): boolean {
  const engine = run.engine_id === null ? undefined : state.engines.get(run.engine_id);
  return next.type === "Scheduled" && !run.acknowledged && engine?.exchanges === true;
}

/** Why an ended run cannot be moved back, or null. Two runs of a lineage would share its steps and waits. */
function refuseReturn(turn: Turn, run: Run): Refusal | null {
  const successor = successorOf(turn.state, run);
  return successor === null ? lackOfRoom(turn, 1) : refuse("run_goes_on", run.id, successor);
}

/** Applies a move reported by the engine that holds the run; a move outside the state table changes nothing. */
export function moveByReport(turn: Turn, run: Run, proposed: RunTransitionReport["state"]): void {
  if (!run.assigned || isRepetition(run, proposed, true, proposed.timestamp)) return;
  const decision = decideTransition(run.state, proposed, turn.nowUs, false);
  if (!decision.accepted) return;
  run.repeatable = false;
  applyMove(turn, run, decision.state, false, "engine");
}

function applyMove(turn: Turn, run: Run, state: State, force: boolean, mover: Mover): void {
  const extra = state.name === "Skipped" ? { reason: state.message } : null;
  if (force) forceRun(turn, run, state, extra, mover);
  // The engine reports that user code ended its thread or filled its memory: rerun as after any crash.
  else if (state.type === "Crashed" && run.assigned) crashRun(turn, run, state.message ?? ENGINE_EXITED, state.details);
  else moveRun(turn, run, state, extra, mover);
}

/** A repetition of the newest move is accepted, because its first answer may have been lost. */
function isRepetition(
  run: Run,
  body: { type: string; name?: string | null | undefined },
  leased: boolean,
  timestamp: number,
): boolean {
  const same = run.state.type === body.type && run.state.name === stateNameOf(body);
  if (!same) return false;
  // A replaced timestamp is not stored, so it cannot be compared.
  return leased ? run.state.timestamp === timestamp || !isStorableTime(timestamp) : run.repeatable;
}
