/** Marks runs that wait: for resources (AwaitingResource) and past their scheduled time (Late). */
import type { Run } from "../live-state/run.ts";
import type { Turn } from "../turn.ts";
import { block } from "./hand-out.ts";
import { moveRun } from "./moves.ts";
import { blockingOf, reserve } from "./reservation.ts";

/** Runs of one queue that are looked at for a lack of resources in one pass. */
const LOOKED_AT_MAX = 1000;

/** Marks the runs that lack a resource: a due run says what it waits for within the tick. */
export function markWaiting(turn: Turn): void {
  reserve(turn);
  findBlocked(turn);
  const { newlyBlocked } = turn.state;
  for (const run of newlyBlocked) {
    const resource = run.waiting?.object ?? null;
    if (run.place !== "blocked" || resource === null || run.state.name === "Late") continue;
    if (run.state.name === "AwaitingResource" && run.state.details["resource"] === resource) continue;
    const message = `waiting for ${resource}`;
    moveRun(turn, run, { type: "Scheduled", name: "AwaitingResource", timestamp: turn.nowUs, message, details: { resource } });
    const payload = { resource, project: run.flow.project, state: run.state.name };
    turn.customEvent("resource.exhausted", run, null, JSON.stringify(payload));
  }
  newlyBlocked.clear();
}

/** Ready runs whose resources were taken since they were queued. */
function findBlocked(turn: Turn): void {
  const { queue } = turn.state;
  for (const keyQueue of queue.keys()) {
    const blocked: [Run, string][] = [];
    for (const { run, stamp } of keyQueue.ready.items().slice(0, LOOKED_AT_MAX)) {
      if (stamp !== run.placeStamp) continue;
      const blocking = blockingOf(turn.state, run);
      if (blocking !== null) blocked.push([run, blocking]);
    }
    for (const [run, resource] of blocked) block(turn, run, resource);
  }
}

/** A run that has not started 15 s after its scheduled time is late; one event carries the common and the extra keys. */
export function markLate(turn: Turn, run: Run): void {
  if (run.state.type !== "Scheduled" || run.state.name === "Late" || run.scheduled_time === null) return;
  const extra = { scheduled_time: run.scheduled_time, name: run.name };
  const { message, details } = run.state;
  moveRun(turn, run, { type: "Scheduled", name: "Late", timestamp: turn.nowUs, message, details }, extra);
}
