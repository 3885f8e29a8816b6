/**
 * Prevents starvation: a run that lacks resources is passed over, but after a minute the first waiting run reserves
 * everything it needs as it becomes free, until it is handed out. Reservations do not delay runs of a higher priority. A run
 * that needs more of a resource than there is in total reserves nothing.
 */
import type { LiveState } from "../../core/state/live-state.ts";
import { hasWaited, needsOf, priorityOf, type Run } from "../../core/state/run.ts";
import { inOrder } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";

/** How long a run is passed over before it reserves. */
const PASSED_OVER_MAX_US = 60_000_000;

/** The resource that keeps a run from what it needs now, by default for its hand-out, or null. */
export function blockingOf(state: LiveState, run: Run, needs = needsOf(run)): string | null {
  const blocking = state.ledger.blocking(needs);
  if (blocking !== null || state.reservations.size === 0) return blocking;
  const rank = priorityOf(run);
  return Object.keys(needs).find((name) => reservingRun(state, name, run, rank) !== null) ?? null;
}

/** The run of at least this priority for which a resource is reserved, unless it is `run`, or null. */
export function reservingRun(state: LiveState, name: string, run: Run, rank: number): Run | null {
  const reserving = state.reservations.get(name);
  if (reserving === undefined || reserving === run) return null;
  if (mayReserve(state, reserving)) return rank <= priorityOf(reserving) ? reserving : null;
  state.reservations.delete(name);
  return null;
}

/** Whether a run waits for resources of which there is enough in total. */
function mayReserve({ ledger }: LiveState, run: Run): boolean {
  return (run.place === "blocked" || run.place === "ready") && ledger.unreachable(needsOf(run)) === null;
}

/** Reserves for runs that have waited too long; part of the regular check of waiting runs. */
export function reserve(turn: Turn): void {
  const { state } = turn;
  for (const keyQueue of state.queue.keys()) {
    for (const first of state.queue.firstBlocked(keyQueue, (run) => mayReserve(state, run))) {
      if (!hasWaited(first, turn.nowUs, PASSED_OVER_MAX_US)) continue;
      for (const name of Object.keys(needsOf(first))) reserveFor(state, name, first);
    }
  }
}

function reserveFor(state: LiveState, name: string, run: Run): void {
  const reserving = state.reservations.get(name);
  const stands = reserving !== undefined && mayReserve(state, reserving) && inOrder(reserving, run) <= 0;
  if (!stands) state.reservations.set(name, run);
}

/** Releases the reservations of a run that was handed out or ended; returns the resources' names. */
export function giveUpReservations(state: LiveState, run: Run): string[] {
  const names = [...state.reservations].filter(([, holder]) => holder === run).map(([name]) => name);
  for (const name of names) state.reservations.delete(name);
  return names;
}
