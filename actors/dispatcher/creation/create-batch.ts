/**
 * POST /api/runs/batch: many runs in one decision. The runs are prepared in slices (batch-draft.ts); the step after the last
 * slice adds all of them, and one operation stores them with the events of their creation.
 */
import { Refusal, refuse } from "#protocol/errors";
import { PARAMETERS_IN_MEMORY_BYTES_MAX, RUN_BATCH_ERROR_LENGTH_MAX } from "#protocol/limits";
import { BatchHead } from "#protocol/records/run-batch";
import type { State } from "#protocol/records/state";
import { writeUuid } from "#protocol/values/uuid";
import { runsIn, type SlicedBatch, sharedText, sliceBatch } from "#protocol/wire/batch-slices";
import type { Command } from "#protocol/wire/command";
import { parseBodyText } from "../../core/command-body.ts";
import type { Flow } from "../../core/state/flow.ts";
import { lengthOfTexts, NO_DETAILS, type Run, UNSTARTED } from "../../core/state/run.ts";
import { CREATED_LENGTH } from "../../core/state/run-marks.ts";
import type { Turn } from "../../core/turn.ts";
import { continueChain } from "../../rule-engine/reactions/chain.ts";
import type { BatchSlice } from "../dispatcher-messages.ts";
import { type BatchDraft, type DraftedRun, draftBatchRuns, isDrafted, newBatchDraft } from "./batch-draft.ts";
import { type BatchFlow, settleFlow } from "./batch-flows.ts";
import { admitRun } from "./create-run.ts";
import { isKeyed, noteKeyedRun } from "./fan-in.ts";
import { lackOfRoom } from "./lack-of-room.ts";
import { nameOfRun } from "./run-names.ts";

/** How often a batch is prepared again because its flows were changed; then the client has to retry. */
const ROUNDS_MAX = 3;

export function createRunsCommand(turn: Turn, command: Command<"CreateRuns">): void {
  beginBatch(turn, command, 1);
}

function beginBatch(turn: Turn, command: Command<"CreateRuns">, round: number): void {
  const batch = batchOf(command);
  if (batch instanceof Refusal) return turn.answers.refuse(command, batch);
  const head = parseBodyText(turn, command, BatchHead, batch.head);
  if (head === undefined) return;
  const draft = newBatchDraft(command, batch, head, round);
  const full = draft.partial ? null : lackOfRoom(turn, runsIn(batch));
  if (full !== null) return turn.answers.refuse(command, full);
  continueBatch(turn, draft);
}

function batchOf({ body }: Command<"CreateRuns">): SlicedBatch | Refusal {
  if (typeof body !== "string") return body;
  const sliced = sliceBatch(sharedText(body));
  return sliced.ok ? sliced.batch : refuse(sliced.code, sliced.detail);
}

/** Reads the next runs; after the last of them, decides the batch in one step. Nothing is decided before. */
export function continueBatch(turn: Turn, draft: BatchDraft): void {
  const { command } = draft;
  if (turn.state.stopping) return turn.answers.refuse(command, refuse("stopping"));
  const refused = draftBatchRuns(turn, draft);
  if (refused !== null) return turn.answers.refuse(command, refused);
  if (!isDrafted(draft)) {
    const next: BatchSlice = { kind: "BatchSlice", answers: command, draft };
    return turn.out.setTimer(`batch ${command.id}`, turn.nowUs, next);
  }
  // During the preparation, the same request may have been decided, flows changed, and the room used up.
  if (turn.answers.again(command)) return;
  if (!draft.flows.areCurrent(turn.state)) {
    if (draft.round === ROUNDS_MAX) return turn.answers.refuse(command, refuse("busy"));
    return beginBatch(turn, command, draft.round + 1);
  }
  const accepted = draft.entries.filter((entry): entry is DraftedRun => !(entry instanceof Refusal));
  const full = lackOfRoom(turn, accepted.length);
  if (full !== null) return turn.answers.refuse(command, full);
  const runs = addBatchRuns(turn, accepted);
  turn.answers.text(command, 201, renderAnswer(turn, draft, runs));
}

/** Adds the runs in order. The downstream runs of those that end at once follow behind all of them. */
function addBatchRuns(turn: Turn, drafted: readonly DraftedRun[]): Run[] {
  if (drafted.length === 0) return [];
  const { state } = turn;
  const flows = flowsOf(turn, drafted);
  const firstId = state.nextIds.run;
  state.nextIds.run += drafted.length;
  const scheduled: State = { type: "Scheduled", name: "Scheduled", timestamp: turn.nowUs, message: null, details: NO_DETAILS };
  const runs = drafted.map((entry, index) => newBatchRun(turn, entry, flows.get(entry.flow) as Flow, firstId + index, scheduled));
  storeRuns(turn, drafted, runs);
  for (const run of runs) {
    if (state.parametersOf(run).length > PARAMETERS_IN_MEMORY_BYTES_MAX) state.dropTexts(run, turn.number);
    state.fileRun(run, turn.number);
    if (turn.ruleDepth > 0) continueChain(turn, run, run);
  }
  const keyed = new Set([...new Set(flows.values())].filter((flow) => isKeyed(turn, flow)));
  for (const run of runs) {
    if (keyed.has(run.flow)) noteKeyedRun(turn, run);
    admitRun(turn, run);
  }
  return runs;
}

/** The flows of the runs, registered in the order of the runs. */
function flowsOf(turn: Turn, drafted: readonly DraftedRun[]): Map<BatchFlow, Flow> {
  const flows = new Map<BatchFlow, Flow>();
  for (const { flow } of drafted) if (!flows.has(flow)) flows.set(flow, settleFlow(turn, flow));
  return flows;
}

function newBatchRun(turn: Turn, entry: DraftedRun, flow: Flow, id: number, state: State): Run {
  const texts = {
    external_id: entry.externalId,
    name: entry.name ? entry.name : nameOfRun(id),
    parameters: entry.parametersText,
    tags: entry.tagsText,
    ...(turn.traceparent !== undefined && { traceparent: turn.traceparent }),
  };
  return {
    id,
    flow,
    texts,
    textLength: lengthOfTexts(texts),
    priority: flow.options.priority,
    attempt: 0,
    reruns: 0,
    created_by: entry.createdBy,
    created_at: turn.nowUs,
    scheduled_time: null,
    schedule_id: null,
    backfill_id: null,
    parent_run_id: null,
    fire_time: null,
    state,
    movedUs: turn.receivedUs,
    ...UNSTARTED,
    marksLength: CREATED_LENGTH,
  };
}

function storeRuns(turn: Turn, drafted: readonly DraftedRun[], runs: readonly Run[]): void {
  const externalIds = new Uint8Array(runs.length * 16);
  const counts = new Map<Flow, number>();
  const rows = runs.map((run, index) => {
    const { flow, priority } = run;
    const { external_id, name } = turn.state.textsOf(run);
    writeUuid(external_id, externalIds, index * 16);
    counts.set(flow, (counts.get(flow) ?? 0) + 1);
    return `[${flow.id},${priority},${JSON.stringify(name)},${drafted[index]?.rowEnd}`;
  });
  const firstId = runs[0]?.id ?? 0;
  turn.rows.put("insert_new_runs", {
    first_id: firstId,
    count: runs.length,
    external_ids: externalIds,
    created_at: turn.nowUs,
    rows: `[${rows.join(",")}]`,
    rule_depth: turn.ruleDepth,
  });
  const { traceparent } = turn;
  if (traceparent !== undefined) for (const { id } of runs) turn.rows.put("set_traceparent", { id, traceparent });
  // Not countNewRuns, which searches a list: a batch may have a flow for each run.
  for (const [{ id }, delta] of counts) turn.rows.put("count_runs", { flow_id: id, state_type: "Scheduled", delta });
  turn.events.withNewRuns(firstId, runs.length);
}

/** One entry for each run of the request, in its order. */
function renderAnswer(turn: Turn, { entries }: BatchDraft, runs: readonly Run[]): string {
  let next = 0;
  // Most runs share the state in which they were created.
  let newest: { state: State; text: string } | null = null;
  const texts = entries.map((entry) => {
    if (entry instanceof Refusal) return renderRefused(entry);
    const run = runs[next] as Run;
    const { id, state } = run;
    const { external_id, name } = turn.state.textsOf(run);
    next += 1;
    if (newest?.state !== state) newest = { state, text: renderState(state) };
    return `{"id":${id},"external_id":"${external_id}","name":${JSON.stringify(name)},"state":${newest.text}}`;
  });
  return `{"created":${runs.length},"runs":[${texts.join(",")}]}`;
}

function renderState({ name, type, timestamp, message }: State): string {
  return JSON.stringify({ name, type, timestamp, message });
}

function renderRefused({ status, message }: Refusal): string {
  return JSON.stringify({ status, error: message.slice(0, RUN_BATCH_ERROR_LENGTH_MAX).toWellFormed() });
}
