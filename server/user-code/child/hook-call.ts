/** In the process of user code: the hook of a flow for a state that its run reached without an engine. */

import type { UserCall } from "#actors/user-code/messages";
import { runFlowHook } from "#sdk/attempt";
import { systemClock } from "#sdk/clock";
import type { LoadedFlow } from "#sdk/load-module";
import type { ReportItem } from "#sdk/report-item";

/** As much of what a hook logs and publishes is kept. */
const ITEMS_MAX = 1_000;

/** Calls the hook and returns what happened in it, as an engine reports it. */
export async function callHook(
  { definition }: LoadedFlow,
  { project, flow, run, state }: Extract<UserCall, { type: "hook" }>,
  home: string,
  controller: AbortController,
): Promise<ReportItem[]> {
  const items: ReportItem[] = [];
  const { id, external_id: externalId, name, parameters, attempt } = run;
  const active = {
    ...{ id, externalId, name, project, flow, parameters, attempt, controller, home },
    clock: systemClock,
    logPrints: definition.wire.log_prints,
    report: (item: ReportItem) => {
      if (items.length < ITEMS_MAX) items.push(item);
    },
    ...{ counters: new Map(), gates: new Map(), taskRuns: new Set<never>(), bodies: new Set<never>(), progress: new Map() },
    ended: false,
  };
  await runFlowHook(definition, active, state);
  return items;
}
