/** Work items as JSON text: what an engine is given. */
import type { Engine } from "../live-state/engine.ts";
import type { Flow } from "../live-state/flow.ts";
import type { Run } from "../live-state/run.ts";

/** The answer to a poll that found nothing. */
export const NO_WORK = '{"run":null,"exit":false}';
/** The answer that tells an engine to leave. */
export const LEAVE = '{"run":null,"exit":true}';

/** A run as work. Engines that end runs themselves also learn the lease they hold, and that reports may move their run. */
export function renderWorkItem(run: Run, engine: Engine, parametersText: string): string {
  const lease = engine.ownsStop ? `,"lease":${run.assignment_id},"run_transitions":true` : "";
  return `{"run":${itemText(run, "run", parametersText, "null", lease)},"exit":false}`;
}

/** The hooks job after a crash: the fields of the crashed run and the state it ended in. */
export function renderHooksItem(run: Run, parametersText: string): string {
  const payload = JSON.stringify({ kind: "hooks", run_id: run.id, state: "Crashed" });
  return `{"run":${itemText(run, "hooks", parametersText, payload, "")},"exit":false}`;
}

/** The bulk-completion check of a backfill: the engine asks for its values itself. */
export function renderBulkItem(flow: Flow, backfillId: number): string {
  const payload = JSON.stringify({ kind: "bulk_complete", backfill_id: backfillId, flow_id: flow.id });
  const noRun = { id: 0, external_id: "", name: "", flow };
  return `{"run":${itemText(noRun, "bulk_complete", "{}", payload, "")},"exit":false}`;
}

type NamedRun = Pick<Run, "id" | "external_id" | "name" | "flow">;

function itemText(run: NamedRun, kind: string, parametersText: string, payloadText: string, rest: string): string {
  const head = JSON.stringify({
    kind,
    run_id: run.id,
    external_id: run.external_id,
    run_name: run.name,
    project: run.flow.project,
    flow: run.flow.name,
  });
  const fields = `"parameters":${parametersText},"options":${run.flow.optionsText},"cancel_requested":false,"payload":${payloadText}`;
  return `${head.slice(0, -1)},${fields}${rest}}`;
}
