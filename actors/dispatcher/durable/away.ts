/** Runs that have left their engine to wait: what every move and hand-out means for them. */
import { isTerminal } from "#protocol/records/state";
import type { RunDurable } from "../../core/state/durable.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

/** Called for every move of such a run: a move ends the park, and an end or a return from an end concerns the lineage. */
export function noteMove(turn: Turn, run: Run, durable: RunDurable, revived: boolean): void {
  const ended = isTerminal(run.state.type);
  if (durable.park !== null) {
    durable.park = null;
    if (!ended) putPark(turn, run, durable);
  }
  if (ended) {
    noteReturn(run, durable);
    durable.ranUs = 0;
    durable.progress = null;
    if (durable.stored) turn.rows.put("delete_park", { run_id: run.id });
    durable.stored = false;
  }
  if (durable.lineageId === null) return;
  if (ended) turn.ended.push(run);
  if (!revived) return;
  const lineage = turn.state.durable.get(durable.lineageId);
  lineage.run = run;
  // Rows of this step are not in the store yet.
  lineage.hasSteps = true;
  lineage.hasWaits = true;
}

/** The run was handed out: resources that the run kept are those of its new assignment, and end with the assignment. */
export function noteHandOut(turn: Turn, run: Run, durable: RunDurable): void {
  const held = durable.holds;
  noteReturn(run, durable);
  if (held) putPark(turn, run, durable);
}

/** The run is with an engine again, has ended, or is removed. */
export function noteReturn(run: Run, durable: RunDurable): void {
  if (durable.away) run.flow.away -= 1;
  durable.away = false;
  durable.holds = false;
}

/** The run waits without an engine; also when the hand-out after its park was taken back. */
export function noteAway(run: Run, durable: RunDurable): void {
  if (!durable.away) run.flow.away += 1;
  durable.away = true;
}

/** Stores what a run goes on with. */
export function putPark(turn: Turn, run: Run, durable: RunDurable): void {
  durable.stored = true;
  turn.rows.put("put_park", {
    run_id: run.id,
    parked: durable.park === null ? 0 : 1,
    wake_at: durable.park?.wakeAt ?? null,
    waits: durable.park === null ? null : JSON.stringify(durable.park.waits),
    holds: durable.holds ? 1 : 0,
    ran: durable.ranUs,
    progress: durable.progress,
  });
}
