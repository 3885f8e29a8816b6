/** Marks waiting runs: for resources (AwaitingResource) and past their scheduled time (Late). */
import { backfillTag } from "../../core/state/backfill.ts";
import { flowKey } from "../../core/state/flow.ts";
import { isLeft, suffices } from "../../core/state/ledger.ts";
import { needsOf, type Run } from "../../core/state/run.ts";
import { hasPolls, readyEntries } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";
import { lacksSlot } from "../engines/engine-pool.ts";
import { moveRun } from "../states/move-run.ts";
import { block, dispatch, dispatchPlaces, moveUp } from "./hand-out.ts";
import { blockingOf, reserve } from "./reservation.ts";

/** Maximum of ready runs per queue that are checked for a lack of resources in one pass. */
const LOOKED_AT_MAX = 1000;

/** Maximum of runs per queue marked as waiting for a place in the pool; runs behind them wait for the same. */
const SLOTLESS_MARKED_MAX = 100;
/** What such runs wait for, as message and resource of their state. */
const NO_SLOT = "no engine slot";

/** Marks runs that lack a resource, so that a due run shows within a tick what it waits for. */
export function markWaiting(turn: Turn): void {
  for (const backfill of turn.state.queue.backfills()) moveUp(turn, backfill);
  reserve(turn);
  wakePassedOver(turn);
  findBlocked(turn);
  const { newlyBlocked } = turn.state;
  for (const run of newlyBlocked) {
    const resource = run.waiting?.object ?? null;
    if (run.place !== "blocked" || resource === null || run.state.name === "Late") continue;
    if (run.state.name === "AwaitingResource" && run.state.details["resource"] === resource) continue;
    if (isFarBehind(turn, run, resource)) continue;
    const message = `waiting for ${resource}`;
    moveRun(turn, run, { type: "Scheduled", name: "AwaitingResource", timestamp: turn.nowUs, message, details: { resource } });
    recordExhausted(turn, run, resource);
  }
  newlyBlocked.clear();
  if (turn.state.settings.runningMax !== null) dispatchPlaces(turn);
  markSlotless(turn);
}

/** Records that a run waits for a resource, as an event about the resource. */
function recordExhausted(turn: Turn, run: Run, resource: string): void {
  const { flow } = run;
  const { external_id, name } = turn.state.textsOf(run);
  turn.events.given({
    name: "resource.exhausted",
    run,
    flow_id: flow.id,
    resource: { kind: "resource", id: resource, name: resource },
    related: [
      { kind: "run", id: external_id, name },
      { kind: "flow", id: flowKey(flow.project, flow.name), name: flow.name },
    ],
    payload: { resource },
  });
}

/** Marks due runs while all places of the pool are taken, like other lacks, but without an event. */
function markSlotless(turn: Turn): void {
  const { state } = turn;
  for (const keyQueue of state.queue.keys()) {
    if (keyQueue.readyCount === 0 || hasPolls(keyQueue) || !lacksSlot(state, keyQueue.key)) continue;
    for (const { run, stamp } of readyEntries(keyQueue).slice(0, SLOTLESS_MARKED_MAX)) {
      if (stamp !== run.placeStamp || run.state.name === "Late") continue;
      if (run.state.name === "AwaitingResource" && run.state.details["resource"] === NO_SLOT) continue;
      const details = { resource: NO_SLOT };
      moveRun(turn, run, { type: "Scheduled", name: "AwaitingResource", timestamp: turn.nowUs, message: NO_SLOT, details });
    }
  }
}

/**
 * Wakes blocked runs whose resources are free: a run woken before may have ended before its hand-out, or may lack something
 * else. Resources needed by ready runs count as taken.
 */
function wakePassedOver(turn: Turn): void {
  const { queue, ledger } = turn.state;
  const waiting = [...queue.keys()].filter(({ blocked }) => blocked.size > 0);
  if (waiting.length === 0) return;
  const claimed = new Map<string, number>();
  const freeOf = (name: string): number => ledger.freeOf(name) - (claimed.get(name) ?? 0);
  const claim = (run: Run): void => {
    for (const [name, amount] of Object.entries(needsOf(run))) claimed.set(name, (claimed.get(name) ?? 0) + amount);
  };
  for (const keyQueue of queue.keys()) {
    for (const { run, stamp } of readyEntries(keyQueue).slice(0, LOOKED_AT_MAX)) if (stamp === run.placeStamp) claim(run);
  }
  const fits = (run: Run): boolean => {
    const hasAll = Object.entries(needsOf(run)).every(([name, amount]) => suffices(freeOf(name), amount));
    if (!hasAll || blockingOf(turn.state, run) !== null) return false;
    claim(run);
    return true;
  };
  for (const keyQueue of waiting) {
    for (const resource of [...keyQueue.blocked.keys()]) {
      if (!isLeft(freeOf(resource))) continue;
      for (const run of queue.freed(keyQueue, resource, fits, () => isLeft(freeOf(resource)))) queue.putReady(run);
    }
    dispatch(turn, keyQueue);
  }
}

/** Of the runs that wait for their backfill's concurrency, only the first are marked, to avoid a flood of equal events. */
function isFarBehind(turn: Turn, run: Run, resource: string): boolean {
  if (run.backfill_id === null || resource !== backfillTag(run.backfill_id)) return false;
  return (turn.state.backfills.get(run.backfill_id)?.counts.get("AwaitingResource") ?? 0) >= turn.state.settings.backfillNearMax;
}

/** Blocks ready runs whose resources were taken since they were queued. */
function findBlocked(turn: Turn): void {
  const { queue } = turn.state;
  for (const keyQueue of queue.keys()) {
    const blocked: [Run, string][] = [];
    for (const { run, stamp } of readyEntries(keyQueue).slice(0, LOOKED_AT_MAX)) {
      if (stamp !== run.placeStamp) continue;
      const blocking = blockingOf(turn.state, run);
      if (blocking !== null) blocked.push([run, blocking]);
    }
    for (const [run, resource] of blocked) block(turn, run, resource);
  }
}

/**
 * Marks a run that has not started 15 s after its scheduled time; one event carries the common and the extra keys. A run that
 * has started waits for something else: its own retry, or an engine after an answer.
 */
export function markLate(turn: Turn, run: Run): void {
  if (run.start_time !== null) return;
  if (run.state.type !== "Scheduled" || run.state.name === "Late" || run.scheduled_time === null) return;
  const extra = { scheduled_time: run.scheduled_time, name: turn.state.textsOf(run).name };
  const { message } = run.state;
  // The mark of a forced move belongs to that move alone.
  const { forced: _forced, ...details } = run.state.details as Record<string, unknown>;
  moveRun(turn, run, { type: "Scheduled", name: "Late", timestamp: turn.nowUs, message, details }, extra);
}
