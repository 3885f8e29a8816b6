/** The answer to the bulk-completion check of a backfill, and the fallback without an answer. */

import { refuse } from "#protocol/errors";
import { parseJson } from "#protocol/values/json";
import type { Command } from "#protocol/wire/command";
import type { Backfill } from "../../core/state/backfill.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { dropBulkCheck } from "../engines/jobs.ts";
import { enqueue } from "../hand-out/hand-out.ts";
import { moveRun } from "../states/move-run.ts";
import { storeBackfill, unfinishedRuns } from "./create-backfill.ts";

/** The runs of the named values end as Skipped, the others are queued. */
export function prefilterCommand(turn: Turn, command: Command<"PrefilterBackfill">): void {
  const { skip } = command.body;
  const backfill = turn.state.findBackfill(command.target);
  if (backfill === undefined) return turn.answers.refuse(command, refuse("backfill_not_found", command.target));
  const done = new Set(skip);
  const waiting = unfinishedRuns(turn.state, backfill).filter((run) => run.state.type === "Scheduled" && !run.assigned);
  const skipped = waiting.filter((run) => done.has(String(backfillValue(turn, backfill, run))));
  settleCheck(turn, backfill);
  storeBackfill(turn, backfill);
  for (const run of skipped) skipDone(turn, run);
  release(turn, waiting);
  turn.answers.json(command, 200, { skipped: skipped.length });
}

/** The check was not answered: queues every run of the backfill. */
export function releaseUnchecked(turn: Turn, backfillId: number): void {
  const backfill = turn.state.backfills.get(backfillId);
  if (backfill === undefined || backfill.prefiltered) return;
  settleCheck(turn, backfill);
  storeBackfill(turn, backfill);
  release(turn, unfinishedRuns(turn.state, backfill));
}

export function settleCheck(turn: Turn, backfill: Backfill): void {
  backfill.prefiltered = true;
  dropBulkCheck(turn.state, backfill.id);
}

function release(turn: Turn, runs: readonly Run[]): void {
  for (const run of runs) if (run.place === "held") enqueue(turn, run);
}

function skipDone(turn: Turn, run: Run): void {
  const details = { reason: "done" };
  const message = "value already done";
  const state = { type: "Completed", name: "Skipped", timestamp: turn.nowUs, message, details } as const;
  moveRun(turn, run, state, { reason: message });
}

function backfillValue(turn: Turn, backfill: Backfill, run: Run): unknown {
  return (parseJson(turn.state.parametersOf(run)) as Record<string, unknown>)[backfill.parameter];
}
