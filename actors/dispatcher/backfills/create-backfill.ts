/** POST /api/flows/{id}/backfill: one run per value, all in one decision. */

import { refuse } from "#protocol/errors";
import { BackfillBody, type BackfillPreview } from "#protocol/records/backfill";
import { canonicalJson } from "#protocol/values/json";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import { type Backfill, backfillTag } from "../../core/state/backfill.ts";
import type { Flow } from "../../core/state/flow.ts";
import type { LiveState } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { lackOfRoom } from "../creation/lack-of-room.ts";
import type { BackfillSlice } from "../dispatcher-messages.ts";
import { queueBulkCheck } from "../engines/jobs.ts";
import { addDraftedRuns, type BackfillDraft, draftRuns, newDraft, readWanted, type WantedRuns } from "./backfill-draft.ts";
import { textOf } from "./backfill-values.ts";

export function createBackfillCommand(turn: Turn, command: Command): void {
  const body = parseBody(turn, command, BackfillBody);
  if (body === undefined) return;
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", command.target));
  const wanted = readWanted(flow, body);
  if (typeof wanted === "string") return turn.answers.refuse(command, refuse("invalid", wanted));
  if (body.dry_run === true) return turn.answers.json(command, 200, previewOf(flow, wanted));
  const full = lackOfRoom(turn, wanted.units.length);
  if (full !== null) return turn.answers.refuse(command, full);
  goOn(turn, flow, newDraft(command, body, flow, wanted));
}

/** A later step of a large backfill. Nothing of it is decided yet, so everything that may have changed is checked again. */
export function continueBackfill(turn: Turn, draft: BackfillDraft): void {
  const { command } = draft;
  const flow = turn.state.flows.get(command.target);
  // The flow was deleted, or registered with other parameters: start over.
  if (flow === undefined || flow.parameter_schema !== draft.schema) return createBackfillCommand(turn, command);
  goOn(turn, flow, draft);
}

/** Makes the next runs; after the last runs, decides the backfill in one step. */
function goOn(turn: Turn, flow: Flow, draft: BackfillDraft): void {
  const { command } = draft;
  if (turn.state.stopping) return turn.answers.refuse(command, refuse("stopping"));
  const wrong = draftRuns(turn, flow, draft);
  if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  if (draft.runs.length < draft.wanted.units.length) {
    const next: BackfillSlice = { kind: "BackfillSlice", answers: command, draft };
    return turn.out.setTimer(`backfill ${command.id}`, turn.nowUs, next);
  }
  // During the preparation, the same request may have been decided, and other runs may have used up the room.
  if (turn.answers.again(command)) return;
  const full = lackOfRoom(turn, draft.runs.length);
  if (full !== null) return turn.answers.refuse(command, full);
  create(turn, flow, draft);
}

function create(turn: Turn, flow: Flow, draft: BackfillDraft): void {
  const backfill = addRow(turn, flow, draft.body, draft.wanted);
  addDraftedRuns(turn, flow, backfill, draft);
  if (!backfill.prefiltered) queueBulkCheck(turn, flow, backfill.id);
  turn.stream.add("backfill.created", backfill.id);
  turn.answers.text(draft.command, 201, renderStatus(backfill));
}

function previewOf(flow: Flow, { parameter, form, units, intervalSeconds }: WantedRuns): BackfillPreview {
  return {
    dry_run: true,
    first: textOf(form, units[0] ?? 0),
    flow: flow.name,
    interval_seconds: intervalSeconds,
    last: textOf(form, units.at(-1) ?? 0),
    note: "nothing was created; send dry_run: false to create these runs",
    parameter,
    runs: units.length,
  };
}

function addRow(turn: Turn, flow: Flow, body: BackfillBody, wanted: WantedRuns): Backfill {
  const backfill: Backfill = {
    id: turn.state.nextIds.backfill,
    external_id: turn.ids.uuid(),
    flow_id: flow.id,
    parameter: wanted.parameter,
    start_value: body.start,
    end_value: body.end,
    interval_secs: wanted.intervalSeconds,
    concurrency: Math.max(1, body.concurrency ?? 1),
    total: wanted.units.length,
    extraText: canonicalJson(wanted.extra),
    cancelled: false,
    cancelledThrough: null,
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
  turn.rows.put("put_backfill", {
    id,
    external_id,
    flow_id,
    parameter,
    start_value,
    end_value,
    interval_secs,
    concurrency,
    total,
    cancelled: backfill.cancelled ? 1 : 0,
    prefiltered: backfill.prefiltered ? 1 : 0,
    created_at: backfill.created_at,
    extra_parameters: backfill.extraText,
    cancelled_through: backfill.cancelledThrough,
  });
}

export function unfinishedRuns(state: LiveState, { id }: Backfill): Run[] {
  return [...state.runs.values()].filter((run) => run.backfill_id === id);
}

/** The status record as JSON text, with fields in the order of the store's rendering. */
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
