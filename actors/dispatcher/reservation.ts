/**
 * Nobody starves: a run that lacks resources is passed over, but once it has waited a minute, the first such run in line
 * reserves what frees up of everything it needs, until it has got it. Runs of a higher priority are not held up.
 */
import type { LiveState } from "../live-state/live-state.ts";
import { needsOf, priorityOf, type Run } from "../live-state/run.ts";
import type { Turn } from "../turn.ts";
import { inOrder } from "./queue.ts";

/** How long a run is passed over before it reserves. */
const PASSED_OVER_MAX_US = 60_000_000;

/** The resource for lack of which a run can't be handed out now, or null. */
export function blockingOf(state: LiveState, run: Run): string | null {
  const needs = needsOf(run);
  const blocking = state.ledger.blocking(needs);
  if (blocking !== null || state.reservations.size === 0) return blocking;
  const rank = priorityOf(run);
  return Object.keys(needs).find((name) => isReserved(state, name, run, rank)) ?? null;
}

/** Whether a resource is kept for a run of at least this priority other than `run` (null: for a lease of user code). */
export function isReserved(state: LiveState, name: string, run: Run | null, rank: number): boolean {
  const holder = state.reservations.get(name);
  if (holder === undefined || holder === run) return false;
  if (holder.place === "blocked" || holder.place === "ready") return rank <= priorityOf(holder);
  state.reservations.delete(name);
  return false;
}

/** Reserves for the runs that have waited too long; part of the regular look at what waits. */
export function reserve(turn: Turn): void {
  const { state } = turn;
  for (const keyQueue of state.queue.keys()) {
    for (const first of state.queue.firstBlocked(keyQueue)) {
      const waitedUs = turn.nowUs - (first.waiting?.sinceUs ?? turn.nowUs);
      // A wait that begins ahead began before the clock was set back.
      if (waitedUs >= 0 && waitedUs < PASSED_OVER_MAX_US) continue;
      for (const name of Object.keys(needsOf(first))) reserveFor(state, name, first);
    }
  }
}

function reserveFor(state: LiveState, name: string, run: Run): void {
  const holder = state.reservations.get(name);
  const stands = holder !== undefined && (holder.place === "blocked" || holder.place === "ready") && inOrder(holder, run) <= 0;
  if (!stands) state.reservations.set(name, run);
}

/** What a run had reserved is free for others once it has been handed out or ended; returns the names. */
export function giveUpReservations(state: LiveState, run: Run): string[] {
  const names = [...state.reservations].filter(([, holder]) => holder === run).map(([name]) => name);
  for (const name of names) state.reservations.delete(name);
  return names;
}
