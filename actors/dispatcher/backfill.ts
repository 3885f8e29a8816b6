/** POST /api/flows/{id}/backfill: one run per value, all in one decision. */
import { BackfillBody, type BackfillPreview } from "#protocol/backfill";
import type { Command } from "#protocol/command";
import { refuse } from "#protocol/errors";
import { canonicalJson } from "#protocol/json";
import { checkParameters } from "#protocol/parameters";
import { putOperation } from "#storage/ops";
import { type Backfill, backfillTag } from "../live-state/backfill.ts";
import type { Flow } from "../live-state/flow.ts";
import type { Turn } from "../turn.ts";
import { backfillValues, valueForm } from "./backfill-values.ts";
import { createRun } from "./create-run.ts";
import { queueBulkCheck } from "./jobs.ts";

/** What a body asks for, checked. */
interface Wanted {
  parameter: string;
  /** In the order in which the runs are created. */
  values: string[];
  intervalSeconds: number;
  extra: Record<string, unknown>;
}

export function createBackfillCommand(turn: Turn, command: Command): void {
  const body = turn.parse(command, BackfillBody);
  if (body === undefined) return;
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.refuse(command, refuse("flow_not_found", command.target));
  const wanted = readWanted(flow, body);
  if (typeof wanted === "string") return turn.refuse(command, refuse("invalid", wanted));
  if (body.dry_run === true) return turn.replyJson(command, 200, previewOf(flow, wanted));
  if (turn.state.stopping) return turn.refuse(command, refuse("stopping"));
  const backfill = addRow(turn, flow, body, wanted);
  createRuns(turn, flow, backfill, wanted);
  if (!backfill.prefiltered) queueBulkCheck(turn, flow, backfill.id);
  turn.stream("backfill.created", backfill.id);
  turn.reply(command, 201, renderStatus(backfill));
}

/** The values and fixed parameters, or why they are refused. */
function readWanted(flow: Flow, body: BackfillBody): Wanted | string {
  const { parameter } = body;
  const properties = flow.parameter_schema?.["properties"] as Record<string, unknown> | undefined;
  if (properties === undefined || !Object.hasOwn(properties, parameter)) return `flow has no parameter "${parameter}"`;
  const form = valueForm(properties[parameter]);
  if (form === null) return `parameter "${parameter}" is not a date or datetime`;
  const listed = backfillValues(form, body.start, body.end, body.interval);
  if (!listed.ok) return listed.error;
  const values = body.reverse === true ? listed.values.reverse() : listed.values;
  const extra = body.extra_parameters ?? {};
  // All values have one form, so the first stands for all.
  const checked = checkParameters(flow.parameter_schema, { ...extra, [parameter]: values[0] });
  if (!checked.ok) return checked.error;
  return { parameter, values, intervalSeconds: listed.intervalSeconds, extra };
}

function previewOf(flow: Flow, { parameter, values, intervalSeconds }: Wanted): BackfillPreview {
  return {
    dry_run: true,
    first: values[0] ?? "",
    flow: flow.name,
    interval_seconds: intervalSeconds,
    last: values.at(-1) ?? "",
    note: "nothing was created; send dry_run: false to create these runs",
    parameter,
    runs: values.length,
  };
}

function addRow(turn: Turn, flow: Flow, body: BackfillBody, wanted: Wanted): Backfill {
  const backfill: Backfill = {
    id: turn.state.nextIds.backfill,
    external_id: turn.ids.uuid(),
    flow_id: flow.id,
    parameter: wanted.parameter,
    start_value: body.start,
    end_value: body.end,
    interval_secs: wanted.intervalSeconds,
    concurrency: Math.max(1, body.concurrency ?? 1),
    total: wanted.values.length,
    extraText: canonicalJson(wanted.extra),
    cancelled: false,
    prefiltered: !flow.options.hasBulkComplete,
    created_at: turn.nowUs,
    counts: new Map(),
  };
  turn.state.nextIds.backfill += 1;
  turn.state.addBackfill(backfill);
  storeBackfill(turn, backfill);
  return backfill;
}

export function storeBackfill(turn: Turn, backfill: Backfill): void {
  const { id, external_id, flow_id, parameter, start_value, end_value, interval_secs, concurrency, total } = backfill;
  const identity = [id, external_id, flow_id, parameter, start_value, end_value, interval_secs, concurrency, total] as const;
  const standing = [backfill.cancelled ? 1 : 0, backfill.prefiltered ? 1 : 0, backfill.created_at, backfill.extraText] as const;
  putOperation(turn.decision.ops, "put_backfill", ...identity, ...standing);
}

function createRuns(turn: Turn, flow: Flow, backfill: Backfill, { parameter, values, extra }: Wanted): void {
  const tag = backfillTag(backfill.id);
  for (const value of values) {
    const checked = checkParameters(flow.parameter_schema, { ...extra, [parameter]: value });
    createRun(turn, flow, {
      name: `${flow.name}-${value.replaceAll(":", "")}`,
      parametersText: canonicalJson(checked.ok ? checked.parameters : {}),
      tags: [tag],
      createdBy: tag,
      backfillId: backfill.id,
    });
  }
}

/** The status record as JSON text; field order as the store renders it. */
export function renderStatus(backfill: Backfill): string {
  const { id, external_id, flow_id, parameter, start_value, end_value, interval_secs, concurrency, total } = backfill;
  const head = JSON.stringify({
    id,
    external_id,
    flow_id,
    parameter,
    start_value,
    end_value,
    interval_secs,
    concurrency,
    total,
  });
  const { cancelled, created_at, counts } = backfill;
  const tail = JSON.stringify({ cancelled, created_at, counts: Object.fromEntries(counts), tag: backfillTag(id) });
  return `${head.slice(0, -1)},"extra_parameters":${backfill.extraText},${tail.slice(1)}`;
}
