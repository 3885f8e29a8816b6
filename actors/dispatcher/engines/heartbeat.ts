/** POST /api/engine/heartbeat: the engine is alive; the answer reports whether its run still is. Kept in memory only. */

import { HeartbeatRequest } from "#protocol/records/engine";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { touchContact } from "./contact.ts";

export function heartbeat(turn: Turn, command: Command): void {
  const body = parseBody(turn, command, HeartbeatRequest);
  if (body === undefined) return;
  const run = turn.state.findRun(body.run_id);
  if (run === undefined || isEnded(run) || isOver(run, body.lease ?? null))
    return turn.answers.json(command, 200, { cancel: false, active: false });
  touchContact(turn, run);
  turn.answers.json(command, 200, { cancel: run.state.type === "Cancelling", active: true });
}

/**
 * True when the lease has ended or belongs to another engine: the run was paused by hand, for example, and its engine must
 * leave it.
 */
function isOver(run: Run, lease: number | null): boolean {
  return lease !== null && (lease !== run.assignment_id || !run.assigned);
}
