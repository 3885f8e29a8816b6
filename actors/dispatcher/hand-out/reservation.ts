/**
 * Prevents starvation: a run that lacks resources is passed over, but after a minute the first waiting run reserves
 * everything it needs as it becomes free, until it is handed out. Reservations do not delay runs of a higher priority.
 */
import type { LiveState } from "../../core/state/live-state.ts";
import { needsOf, priorityOf, type Run } from "../../core/state/run.ts";
import { inOrder } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";

/** How long a run is passed over before it reserves. */
const PASSED_OVER_MAX_US = 60_000_000;

/** The resource that keeps a run from being handed out now, or null. */
export function blockingOf(state: LiveState, run: Run): string | null {
  const needs = needsOf(run);
  const blocking = state.ledger.blocking(needs);
  if (blocking !== null || state.reservations.size === 0) return blocking;
  const rank = priorityOf(run);
  return Object.keys(needs).find((name) => isReserved(state, name, run, rank)) ?? null;
}

/** Whether a resource is reserved for another run of at least this priority; `run` is null for a lease of user code. */
export function isReserved(state: LiveState, name: string, run: Run | null, rank: number): boolean {
  const holder = state.reservations.get(name);
  if (holder === undefined || holder === run) return false;
  if (holder.place === "blocked" || holder.place === "ready") return rank <= priorityOf(holder);
  state.reservations.delete(name);
  return false;
}

/** Reserves for runs that have waited too long; part of the regular check of waiting runs. */
export function reserve(turn: Turn): void {
  const { state } = turn;
  for (const keyQueue of state.queue.keys()) {
    for (const first of state.queue.firstBlocked(keyQueue)) {
      const waitedUs = turn.nowUs - (first.waiting?.sinceUs ?? turn.nowUs);
      // A wait that began in the future began before the clock was set back.
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

/** Releases the reservations of a run that was handed out or ended; returns the resources' names. */
export function giveUpReservations(state: LiveState, run: Run): string[] {
  const names = [...state.reservations].filter(([, holder]) => holder === run).map(([name]) => name);
  for (const name of names) state.reservations.delete(name);
  return names;
}
