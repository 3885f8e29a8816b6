/** Removes runs, for every caller: a delete, retention, and schedules that no longer produce a run. */
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { forgetKeyedRun } from "../creation/fan-in.ts";
import { noteReturn } from "../durable/away.ts";
import { releaseRun } from "../hand-out/hand-out.ts";

/** Removes a run that no engine holds and everything it owns, without an event for its end. */
export function dropRun(turn: Turn, run: Run): void {
  turn.rows.countRun(run.flow, run.state.type, null);
  turn.state.countInBackfill(run, run.state.name, null);
  turn.rows.countDroppedTasks(run);
  forgetKeyedRun(turn, run);
  turn.rows.write();
  forgetRun(turn, run);
  turn.rows.put("delete_run", { id: run.id });
  turn.stream.add("run.deleted", run.id);
}

/** Removes a run from memory, with its place in the queue and its leases. */
export function forgetRun(turn: Turn, run: Run): void {
  turn.state.queue.leave(run);
  // A parked run may have kept its resources.
  if (run.durable !== null) noteReturn(run, run.durable);
  releaseRun(turn, run);
  turn.rows.dropRun(run);
  turn.state.removeRun(run, turn.number);
}
