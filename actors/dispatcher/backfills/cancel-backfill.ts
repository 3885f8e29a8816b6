/**
 * POST /api/backfills/{id}/cancel. The runs are cancelled some thousand at a time. Each slice is a decision of its own that
 * waits for the commit of the slice before, so no commit grows with the backfill, and other commands run in between. From the
 * first slice on, no run of the backfill is handed out. The progress is stored, so that a restart continues the cancel; the
 * answer is sent with the last slice.
 */

import { refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import type { Backfill, OpenCancel } from "../../core/state/backfill.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { DISPATCHER } from "../../names.ts";
import type { CancelSlice } from "../dispatcher-messages.ts";
import { holdForBackfill } from "../hand-out/hand-out.ts";
import { cancelRun } from "../states/cancel-run.ts";
import { renderStatus, storeBackfill, unfinishedRuns } from "./create-backfill.ts";
import { settleCheck } from "./prefilter-backfill.ts";

export function cancelBackfillCommand(turn: Turn, command: Command): void {
  const backfill = turn.state.findBackfill(command.target);
  if (backfill === undefined) return turn.answers.refuse(command, refuse("backfill_not_found", command.target));
  const open = turn.state.openCancels.get(backfill.id);
  if (open !== undefined) {
    open.commands.push(command);
    return;
  }
  const runs = unfinishedRuns(turn.state, backfill);
  backfill.cancelled = true;
  backfill.cancelledThrough = runs.reduce((least, run) => Math.min(least, run.id), turn.state.nextIds.run) - 1;
  settleCheck(turn, backfill);
  // Take all runs out of the queue first, so that resources freed by one run do not start the next.
  for (const run of runs) if (run.place !== "none") holdForBackfill(turn, run);
  addCancel(turn, backfill, runs).commands.push(command);
  cancelSlice(turn, backfill.id);
}

/** After a restart: continues the cancels in progress. */
export function resumeCancels(turn: Turn): void {
  for (const backfill of turn.state.backfills.all())
    if (backfill.cancelledThrough !== null) addCancel(turn, backfill, unfinishedRuns(turn.state, backfill));
  callCancels(turn, turn.number);
}

function addCancel(turn: Turn, backfill: Backfill, runs: readonly Run[]): OpenCancel {
  const lastRun = runs.reduce((last, run) => Math.max(last, run.id), 0);
  const open = { commands: [], lastRun, wroteTurn: 0, called: false };
  turn.state.openCancels.set(backfill.id, open);
  return open;
}

/** Requests the next slice of each cancel whose last slice is committed, as a separate step. */
export function callCancels(turn: Turn, committedTurn: number): void {
  for (const [backfill_id, open] of turn.state.openCancels) {
    if (open.called || open.wroteTurn > committedTurn) continue;
    open.called = true;
    const answers = open.commands[0] ?? null;
    turn.out.send(DISPATCHER, { kind: "CancelSlice", answers, backfill_id } satisfies CancelSlice);
  }
}

export function cancelSlice(turn: Turn, backfillId: number): void {
  const { openCancels, backfills } = turn.state;
  const open = openCancels.get(backfillId);
  if (open === undefined) return;
  open.called = false;
  open.wroteTurn = turn.number;
  const backfill = backfills.get(backfillId);
  if (backfill === undefined) {
    // The flow of the backfill was deleted.
    openCancels.delete(backfillId);
    for (const command of open.commands) turn.answers.refuse(command, refuse("backfill_not_found", backfillId));
    return;
  }
  const [command] = open.commands;
  const caused = command === undefined ? turn : turn.causedBy(command);
  backfill.cancelledThrough = cancelNext(caused, backfill, open.lastRun);
  if (backfill.cancelledThrough === null) finish(caused, backfill, open);
  storeBackfill(turn, backfill);
  turn.stream.add("backfill.updated", backfill.id);
}

/** Cancels one slice. Returns the last id reached, null when all are done. */
function cancelNext(turn: Turn, { id, cancelledThrough }: Backfill, lastRun: number): number | null {
  let left = turn.state.settings.backfillSliceRuns;
  for (let at = (cancelledThrough ?? 0) + 1; at <= lastRun; at += 1) {
    const run = turn.state.runs.get(at);
    if (run === undefined || run.backfill_id !== id) continue;
    if (left === 0) return at - 1;
    left -= 1;
    cancelRun(turn, run, null);
  }
  return null;
}

function finish(turn: Turn, backfill: Backfill, open: OpenCancel): void {
  turn.state.openCancels.delete(backfill.id);
  // Runs that had ended when the cancel began but were revived before their slice were held too; cancel them now.
  for (const run of unfinishedRuns(turn.state, backfill)) if (run.place === "held") cancelRun(turn, run, null);
  for (const command of open.commands) turn.answers.text(command, 200, renderStatus(backfill));
}
