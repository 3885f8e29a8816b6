/** `[server] max_running`: a cap over all runs that engines hold, whatever their flow. */
import type { LiveState } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import { inOrder, type KeyQueue } from "../../core/state/work-queue.ts";

/** Runs that engines hold. */
export function runningCount({ flows }: LiveState): number {
  let count = 0;
  for (const { handedOut } of flows.values()) count += handedOut;
  return count;
}

/** Whether no further run may be handed out. */
export function isRunningFull(state: LiveState): boolean {
  const { runningMax } = state.settings;
  return runningMax !== null && runningCount(state) >= runningMax;
}

/** Whether a place is left for a run of a key. The last places go to the runs that come first, also those of other keys. */
export function hasPlace(state: LiveState, keyQueue: KeyQueue, run: Run): boolean {
  const { runningMax } = state.settings;
  if (runningMax === null) return true;
  let free = runningMax - runningCount(state);
  for (const other of state.queue.keys()) {
    if (free <= 0) return false;
    const first = other === keyQueue ? undefined : firstFor(state, other);
    if (first !== undefined && inOrder(first, run) < 0) free -= 1;
  }
  return free > 0;
}

/** The run that the next waiting engine of a key would get. */
function firstFor(state: LiveState, keyQueue: KeyQueue): Run | undefined {
  const takesAny = [...keyQueue.idlePolls].some(({ engine }) => engine.wanted === null);
  const shares = takesAny || [...keyQueue.busyPolls].some(({ engine }) => engine.wanted === null);
  return shares ? state.queue.first(keyQueue, !takesAny) : undefined;
}
