/** Work items as JSON text: the work given to an engine. */
import type { RunOriginRecord } from "#protocol/records/engine";
import type { Engine } from "../../core/state/engine.ts";
import type { Flow } from "../../core/state/flow.ts";
import type { LiveState } from "../../core/state/live-state.ts";
import { fireTimeOf, type Run, type RunTexts } from "../../core/state/run.ts";
import { durableFields } from "../durable/lineages.ts";

/**
 * The answer to a poll, which has at most one item, or to the exchange of this number. `exit` makes the engine leave.
 * `outcomes` and `stops` are the JSON of the exchange's reports and of the runs that the engine is to stop.
 */
export function renderAnswer(
  exchange: number | null,
  items: readonly string[],
  exit: boolean,
  outcomes: readonly string[] = [],
  stops: readonly string[] = [],
): string {
  if (exchange === null) return `{"run":${items[0] ?? null},"exit":${exit}}`;
  return `{"exchange":${exchange},"exit":${exit},"runs":[${items.join()}],"reports":[${outcomes.join()}],"stop":[${stops.join()}]}`;
}

/** A run as work. Engines that end runs themselves also get their lease, and the permission to move the run by reports. */
export function renderWorkItem(state: LiveState, run: Run, engine: Engine): string {
  const texts = state.textsOf(run);
  const trace = texts.traceparent === undefined ? "" : `,"traceparent":"${texts.traceparent}"`;
  const lease = `,"lease":${run.assignment_id},"run_transitions":true${durableFields(state, run)}${trace}`;
  const rest = engine.ownsStop ? `${lease},${JSON.stringify(originOf(state, run)).slice(1, -1)}` : "";
  return itemText(run, texts, { kind: "run", payloadText: "null", rest });
}

/** What the code of a run can ask about where the run comes from. */
export function originOf(state: LiveState, run: Run): RunOriginRecord {
  const { attempt, created_by, schedule_id: id } = run;
  const fire_time = fireTimeOf(run);
  const lineage_id = run.durable?.lineageId ?? null;
  return {
    attempt,
    created_by,
    tags: [...state.tagsOf(run)],
    ...(id !== null && { schedule: { id, key: state.schedules.get(id)?.code_key ?? null } }),
    ...(fire_time !== null && { fire_time }),
    ...(lineage_id !== null && { lineage_id }),
  };
}

/** The job for crash hooks: the fields of the crashed run and its final state. */
export function renderHooksItem(run: Run, texts: RunTexts): string {
  const payloadText = JSON.stringify({ kind: "hooks", run_id: run.id, state: "Crashed" });
  return itemText(run, texts, { kind: "hooks", payloadText, rest: "" });
}

/** The bulk-completion check of a backfill; the engine fetches the values itself. */
export function renderBulkItem(flow: Flow, backfillId: number): string {
  const payloadText = JSON.stringify({ kind: "bulk_complete", backfill_id: backfillId, flow_id: flow.id });
  const noTexts = { external_id: "", name: "", parameters: "{}" };
  return itemText({ id: 0, flow }, noTexts, { kind: "bulk_complete", payloadText, rest: "" });
}

interface Item {
  kind: string;
  payloadText: string;
  /** Further fields. */
  rest: string;
}

function itemText(
  run: Pick<Run, "id" | "flow">,
  { external_id, name, parameters }: Omit<RunTexts, "tags">,
  { kind, payloadText, rest }: Item,
): string {
  const head = JSON.stringify({
    kind,
    run_id: run.id,
    external_id,
    run_name: name,
    project: run.flow.project,
    flow: run.flow.name,
  });
  const fields = `"parameters":${parameters},"options":${run.flow.optionsText},"cancel_requested":false,"payload":${payloadText}`;
  return `${head.slice(0, -1)},${fields}${rest}}`;
}
