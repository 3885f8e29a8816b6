/** The end of a lineage: its waits end with it, its children are cancelled or left, and the wait of its caller settles. */
import type { WaitOutcome } from "#protocol/records/durable";
import { lostResultBytes, lostResultReason } from "#protocol/records/state";
import type { Lineage, StoredWait } from "../../core/state/durable.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { cancelState } from "../states/cancel-state.ts";
import { enterState } from "../states/moves.ts";
import { lineageOf, successorOf } from "./lineages.ts";
import { closeWait, settleWait } from "./settle.ts";

/** Ends the lineages of the runs that have ended in this step. The runs of cancelled children join the list. */
export function settleEnds(turn: Turn): void {
  for (const run of turn.ended) noteEnd(turn, run);
  turn.ended.length = 0;
}

/** A run has ended. Its lineage goes on if a crash rerun is due. */
function noteEnd(turn: Turn, run: Run): void {
  const lineage = lineageOf(turn.state, run);
  if (lineage === null || !isEnded(run) || successorOf(turn.state, run) !== null) return;
  lineage.run = null;
  if (run.state.type !== "Crashed" || turn.state.room.rerunDueUs(run.id) === undefined) endLineage(turn, lineage, outcomeOf(run));
}

/** A crashed run is not run again after all. */
export function endWithoutRerun(turn: Turn, run: Run): void {
  const lineage = lineageOf(turn.state, run);
  if (lineage === null || lineage.run !== null) return;
  endLineage(turn, lineage, outcomeOf(run));
  settleEnds(turn);
}

/** A run is deleted: if its lineage has not ended, it ends now, and a caller that waits for it learns that. */
export function noteDeletion(turn: Turn, run: Run): void {
  const lineage = lineageOf(turn.state, run);
  if (lineage === null || successorOf(turn.state, run) !== null) return;
  endLineage(turn, lineage, { kind: "gone", run_id: run.id, reason: "deleted" });
  settleEnds(turn);
}

function endLineage(turn: Turn, lineage: Lineage, outcome: WaitOutcome): void {
  lineage.run = null;
  const { durable } = turn.state;
  const waits = [...lineage.waits.values()];
  for (const wait of waits) closeWait(turn, wait, null);
  durable.forget(lineage, turn.number);
  const called = waits.filter(isCancelledWithParent);
  turn.state.parked.recallLineages(called.flatMap(({ child_lineage_id }) => child_lineage_id ?? []));
  for (const wait of called) cancelChild(turn, wait);
  const caller = lineage.callerWait === null ? undefined : durable.openWait(lineage.callerWait);
  // A caller that was moved back by force may have armed the wait again, with another child.
  if (caller?.child_lineage_id === lineage.id) settleWait(turn, caller, outcome);
}

function isCancelledWithParent({ kind, spec }: StoredWait): boolean {
  if (kind !== "child") return false;
  const { on_parent_end = "cancel" } = JSON.parse(spec ?? "{}") as { on_parent_end?: string };
  return on_parent_end === "cancel";
}

function cancelChild(turn: Turn, wait: StoredWait): void {
  const { durable, room } = turn.state;
  if (wait.child_lineage_id === null) return;
  const child = durable.get(wait.child_lineage_id);
  const state = child.run === null ? null : cancelState(child.run, turn.nowUs, "its caller has ended");
  if (child.run !== null && state !== null) return enterState(turn, child.run, state, null, "server", false);
  const newest = durable.newestRunOf(child.id);
  if (child.run !== null || newest === null || room.rerunDueUs(newest) === undefined) return;
  turn.rows.put("delete_rerun", { run_id: newest });
  room.giveUpRerun(newest);
  endLineage(turn, child, { kind: "gone", run_id: newest, reason: "its caller has ended" });
}

function outcomeOf(run: Run): WaitOutcome {
  const { type, name, message, details } = run.state;
  const bytes = lostResultBytes(run.state);
  const lost = lostResultReason(run.state);
  const result = details["result"] === undefined ? undefined : details["result"];
  return {
    kind: "child",
    run_id: run.id,
    state: { type, name, message },
    ...(result !== undefined && { result }),
    ...(bytes !== null && { result_bytes: bytes }),
    ...(lost !== null && { result_lost: lost }),
  };
}
