/** In the user-code process: the hook of a flow for a state that its run reached without an engine. */
import type { UserCall } from "#actors/user-code/user-code-calls";
import type { Millrace } from "#sdk/client/index";
import { newActiveRun } from "#sdk/execution/active-run";
import { runFlowHook } from "#sdk/execution/attempt";
import { systemClock } from "#sdk/execution/clock";
import { DynamicKeys } from "#sdk/execution/dynamic-keys";
import type { ReportItem } from "#sdk/execution/report-item";
import { originOf } from "#sdk/execution/run-origin";
import { ServerRunServices } from "#sdk/execution/run-services";
import type { LoadedFlow } from "#sdk/modules/load-module";

/** Maximum of log lines and artifacts of a hook that are kept. */
const ITEMS_MAX = 1_000;

async function serverClient(): Promise<Millrace> {
  const { Millrace } = await import("#sdk/client/index");
  return new Millrace();
}

/** Calls the hook and returns its effects in the form of an engine's report. */
export async function callHook(
  { definition }: LoadedFlow,
  { project, flow, run, state }: Extract<UserCall, { type: "hook" }>,
  home: string,
  signal: AbortSignal,
): Promise<ReportItem[]> {
  const items: ReportItem[] = [];
  const { id, external_id: externalId, name, parameters } = run;
  const active = newActiveRun({
    ...{ id, externalId, name, project, flow, parameters, origin: originOf(run), attempt: 1, home },
    clock: systemClock,
    logPrints: definition.wire.log_prints,
    report: (item) => {
      if (items.length < ITEMS_MAX) items.push(item);
    },
    dynamicKeys: new DynamicKeys(),
    servicesFor: (ofRun) => new ServerRunServices(serverClient, home, id, ofRun),
  });
  const onAbort = (): void => active.controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  await runFlowHook(definition, active, state);
  return items;
}
