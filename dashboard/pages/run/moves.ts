/** The moves of a run from state to state, from its own events: they show when each attempt began. */
import type { Event, EventsPage } from "#protocol/records/event";
import { useQuery } from "../../api/query.ts";

/** A run with more events comes from an engine that retries without end. */
const LIMIT = 1_000;

/** Oldest first; null until they are read. */
export function useMoves(runId: number): readonly Event[] | null {
  const path = `/api/events?name=run.*&ascending=true&limit=${LIMIT}&run_id=${runId}`;
  const { data } = useQuery<EventsPage>(path, {
    run: runId,
    live: { "event.created": ({ name }) => name.startsWith("run.") },
  });
  return data?.items ?? null;
}

/** When each attempt of the run began, microseconds. */
export function attemptStarts(moves: readonly Event[]): number[] {
  return moves.filter(({ name }) => name === "run.running" || name === "run.retrying").map(({ occurred }) => occurred);
}
