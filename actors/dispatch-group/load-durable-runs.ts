/** Builds what is in memory of durable runs from the store: their lineages, open waits and parks, and the runs left in the store. */
import type { AwayRuns, DurableReads } from "#storage/load/load-durable";
import type { LiveState } from "../core/state/live-state.ts";
import { restorePark } from "../core/state/parked-runs.ts";
import type { Run } from "../core/state/run.ts";

/** After the runs are loaded. */
export function addDurable(state: LiveState, reads: DurableReads, away: AwayRuns): void {
  const { durable, deadlines } = state;
  addAway(state, away);
  const awayLineages = new Set(away.lineages);
  const { rows, endingIds, endings } = reads.readOpenWaits(awayLineages);
  const isHere = (lineage: number): boolean => !awayLineages.has(lineage);
  const living = new Map<number, Run | null>();
  for (const { lineage_id } of rows) if (isHere(lineage_id)) living.set(lineage_id, null);
  for (const run of state.runs.values()) if (run.durable?.lineageId != null) living.set(run.durable.lineageId, run);
  const lineages = reads.readLineages([...living.keys()]);
  for (const [id, run] of living) durable.load(id, lineages.get(id) ?? null).run = run;
  for (const wait of rows) {
    if (isHere(wait.lineage_id)) durable.open(wait, 0);
    else durable.arm(wait, 0);
  }
  for (const [index, due] of endings.entries()) deadlines.addWait(endingIds[index] ?? 0, due);
  for (const park of reads.readParks(away.here)) {
    const run = state.runs.get(park.run_id);
    if (run === undefined) continue;
    restorePark(run, park);
    if (run.durable?.away === true) run.flow.away += 1;
    const wakeAt = run.durable?.park?.wakeAt ?? null;
    if (wakeAt !== null) deadlines.add("wake", run.id, wakeAt);
  }
}

function addAway({ flows, parked, deadlines }: LiveState, { ids, flows: flowIds, wakes }: AwayRuns): void {
  for (const [index, id] of ids.entries()) {
    const flow = flows.get(flowIds[index] ?? 0);
    if (flow === undefined) continue;
    parked.addAway(id, flow);
    const wakeAt = wakes[index] ?? null;
    if (wakeAt !== null) deadlines.add("wake", id, wakeAt);
  }
}
