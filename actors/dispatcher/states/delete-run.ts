/** DELETE /api/runs/{id}. */

import { refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import { isEnded } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { skipDeletedFire } from "../../scheduler/fires/skips.ts";
import { noteDeletion } from "../durable/ends.ts";
import { cancelRun } from "./cancel-run.ts";
import { dropRun } from "./drop-run.ts";
import { moveRun } from "./move-run.ts";

/** Deletes a run in any state; an unfinished run is cancelled first. Its events stay. */
export function deleteRunCommand(turn: Turn, command: Command): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  if (!isEnded(run)) cancelRun(turn, run, null);
  if (!isEnded(run)) {
    moveRun(turn, run, { type: "Cancelled", name: "Cancelled", timestamp: turn.nowUs, message: "deleted", details: {} });
  }
  const schedule = run.schedule_id === null ? undefined : turn.state.schedules.get(run.schedule_id);
  if (schedule !== undefined) skipDeletedFire(turn, schedule, run);
  dropRun(turn, run);
  if (run.durable !== null) noteDeletion(turn, run);
  turn.answers.text(command, 204, null);
}
