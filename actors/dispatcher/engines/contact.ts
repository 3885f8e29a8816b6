/** Contact: any message of an engine about a run shows that the engine knows the run and is alive. */
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

export function touchContact(turn: Turn, run: Run): void {
  if (!run.assigned) return;
  run.acknowledged = true;
  run.lastContactUs = turn.state.uptimeUs();
  const engine = run.engine_id === null ? undefined : turn.state.engines.get(run.engine_id);
  if (engine !== undefined) engine.lastContactUs = run.lastContactUs;
}
