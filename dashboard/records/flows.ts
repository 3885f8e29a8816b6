/** All flows with the data of lists: schedules, latest results, neighbours. */
import type { FlowSummary } from "#protocol/records/flow";
import { type Query, useQuery } from "../api/query.ts";

/** Latest ended runs per flow. */
export const RESULTS = 20;

export function useFlows(): Query<FlowSummary[]> {
  return useQuery<FlowSummary[]>(`/api/flows?results=${RESULTS}`, {
    live: { "flow.registered": true, "schedule.updated": true, "run.updated": true },
  });
}

/** Flows that wait for this one, directly or through others. */
export function downstreamOf(flow: FlowSummary, flows: readonly FlowSummary[]): FlowSummary[] {
  const own = flows.filter(({ project }) => project === flow.project);
  const found = new Set<FlowSummary>([flow]);
  for (const reached of found) for (const next of own) if (reached.triggers.includes(next.name)) found.add(next);
  found.delete(flow);
  return [...found];
}

/** How many of the latest ended runs failed in a row. */
export function failuresInARow({ results = [] }: FlowSummary): number {
  const good = results.findIndex(([, type]) => type !== "Failed" && type !== "Crashed");
  return good === -1 ? results.length : good;
}
