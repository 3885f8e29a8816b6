/** Settles waits, and queues the runs that are parked on them. */
import type { WaitOutcome } from "#protocol/records/durable";
import type { State } from "#protocol/records/state";
import type { StoredWait } from "../../core/state/durable.ts";
import { holdsUnheardRuns, REPORTS_WITHIN_US } from "../../core/state/engine.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { enterState } from "../states/moves.ts";

/** After the start, until engines have reported. */
const LOOK_US = 1_000_000;

/** Settles an open wait. If the run of its lineage is parked on it, the run is queued, once for each park. */
export function settleWait(turn: Turn, wait: StoredWait, outcome: WaitOutcome, eventId: number | null = null): void {
  closeWait(turn, wait, JSON.stringify(outcome), eventId);
  const { run } = turn.state.durable.get(wait.lineage_id);
  if (run?.durable?.park?.waits.includes(wait.id) === true) wakeRun(turn, run);
}

/** Ends an open wait; without an outcome if it ends with its lineage. */
export function closeWait(turn: Turn, wait: StoredWait, outcome: string | null, event_id: number | null = null): void {
  const settled = { ...wait, settled_at: turn.nowUs, outcome, event_id };
  const { durable, parked } = turn.state;
  durable.close(wait, settled, turn.number);
  const { run } = durable.get(wait.lineage_id);
  if (run !== null) parked.note(run, turn.number);
  turn.rows.put("settle_wait", { id: wait.id, settled_at: turn.nowUs, outcome, event_id });
}

/** Queues a parked run. */
export function wakeRun(turn: Turn, run: Run): void {
  if (run.durable === null || run.durable.park === null) return;
  enterState(turn, run, resumingAt(turn.nowUs), null, "server", false);
}

/** The state of a run that waits for an engine to go on. */
export function resumingAt(timestamp: number): State {
  return { type: "Scheduled", name: "Resuming", timestamp, message: null, details: {} };
}

/** The time of a wait has come: the end of a sleep, or the timeout of another wait. */
export function waitDue(turn: Turn, id: number): void {
  const wait = turn.state.durable.openWait(id);
  if (wait === undefined || wait.due === null) return;
  // The wall clock was set back.
  if (wait.due > turn.nowUs) return turn.state.deadlines.addWait(id, wait.due);
  if (wait.kind === "sleep") return settleWait(turn, wait, { kind: "slept" });
  if (mayBeReported(turn)) return turn.state.deadlines.addWait(id, turn.nowUs + LOOK_US);
  settleWait(turn, wait, { kind: "timed_out" });
}

/** After the start: what a wait is for may have happened in time while the server was away, and not be reported yet. */
function mayBeReported({ state }: Turn): boolean {
  return state.uptimeUs() < REPORTS_WITHIN_US && [...state.engines.values()].some(holdsUnheardRuns);
}

/** The retry delay of a parked run has passed. */
export function retryDue(turn: Turn, run: Run): void {
  const wakeAt = run.durable?.park?.wakeAt ?? null;
  if (wakeAt === null) return;
  if (wakeAt > turn.nowUs) turn.state.deadlines.add("wake", run.id, wakeAt);
  else wakeRun(turn, run);
}
