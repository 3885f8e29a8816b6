/** A new run: the only place where single runs are created, for every kind of creator (create-run.ts, downstream.ts). */
import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import type { State } from "#protocol/records/state";
import { CREATED_MARK } from "#storage/schema/run-marks";
import type { Lineage } from "../../core/state/durable.ts";
import { concurrencyResource, type Flow } from "../../core/state/flow.ts";
import { lengthOfTexts, NO_DETAILS, type Run, UNSTARTED } from "../../core/state/run.ts";
import { CREATED_LENGTH, markOverlap } from "../../core/state/run-marks.ts";
import type { Turn } from "../../core/turn.ts";
import { continueChain } from "../../rule-engine/reactions/chain.ts";
import { joinLineage } from "../durable/lineages.ts";
import { enqueue, HOLDERS_NOTED } from "../hand-out/hand-out.ts";
import { enterState } from "../states/moves.ts";
import { noteKeyedRun } from "./fan-in.ts";
import { endForLackOfRoom } from "./lack-of-room.ts";
import { type EndedAtOnce, overlapOutcome } from "./overlap.ts";
import { nameOfRun } from "./run-names.ts";

export interface NewRun {
  /** Null or empty for a generated name. */
  name: string | null;
  /** Canonical JSON text; the caller has validated the parameters and filled in defaults. */
  parametersText: string;
  /** In addition to the flow's tags. */
  tags: readonly string[];
  createdBy: string;
  scheduledTime?: number | null;
  scheduleId?: number | null;
  backfillId?: number | null;
  parentRunId?: number | null;
  /** Of a run that repeats another one; else that of the request. */
  traceparent?: string | undefined;
  /** Of a run that repeats the run of a fire. */
  fireTime?: number | null;
  /** The run that this run follows from, if any. */
  follows?: Run;
  attempt?: number;
  reruns?: number;
  priority?: number;
  details?: Record<string, unknown>;
  /** The run shares its engine with no other run; its Scheduled state says so. */
  alone?: boolean;
  /** A crash of the runs that this run repeats was not counted. */
  uncounted?: boolean;
  /** The state in which the run ends at creation, regardless of the overlap policy. */
  outcome?: EndedAtOnce;
  /** The lineage that the run joins, and the run that called it. */
  lineage?: { lineage: Lineage; callerRunId: number | null };
  /** The run needs no free room, because it replaces a run that occupied some. */
  hasPlace?: true;
}

/**
 * Adds a run and queues it, or ends it at once according to the flow's overlap policy. The downstream runs of a run that
 * completes at once are left to the caller: the run waits for them in `turn.completed`.
 */
export function addRun(turn: Turn, flow: Flow, wanted: NewRun): Run {
  const { state } = turn;
  const id = state.nextIds.run;
  state.nextIds.run += 1;
  const scheduled: State = {
    type: "Scheduled",
    name: "Scheduled",
    timestamp: turn.nowUs,
    message: null,
    details: wanted.alone === true ? { ...wanted.details, alone: true } : (wanted.details ?? NO_DETAILS),
  };
  const traceparent = wanted.traceparent ?? turn.traceparent;
  const texts = {
    external_id: turn.ids.uuid(),
    name: wanted.name ? wanted.name : nameOfRun(id),
    parameters: wanted.parametersText,
    tags: JSON.stringify([...new Set([...flow.tags, ...wanted.tags])]),
    ...(traceparent !== undefined && { traceparent }),
  };
  const run: Run = {
    id,
    flow,
    texts,
    textLength: lengthOfTexts(texts),
    priority: wanted.priority ?? flow.options.priority,
    attempt: wanted.attempt ?? 0,
    reruns: wanted.reruns ?? 0,
    created_by: wanted.createdBy,
    created_at: turn.nowUs,
    scheduled_time: wanted.scheduledTime ?? null,
    schedule_id: wanted.scheduleId ?? null,
    backfill_id: wanted.backfillId ?? null,
    parent_run_id: wanted.parentRunId ?? null,
    fire_time: wanted.fireTime ?? null,
    state: scheduled,
    movedUs: turn.receivedUs,
    ...UNSTARTED,
    marks: CREATED_MARK,
    marksLength: CREATED_LENGTH,
    alone: wanted.alone === true,
    uncounted: wanted.uncounted === true,
  };
  if (wanted.parametersText.length > PARAMETERS_IN_MEMORY_BYTES_MAX) state.dropTexts(run, turn.number);
  turn.rows.newRun(run);
  if (wanted.lineage !== undefined) joinLineage(turn, run, wanted.lineage.lineage, wanted.lineage.callerRunId);
  const full = wanted.hasPlace === true || state.room.hasFor(1) ? undefined : endForLackOfRoom(turn);
  state.room.count(run);
  if (wanted.follows !== undefined || turn.ruleDepth > 0) continueChain(turn, run, wanted.follows ?? run);
  turn.rows.countRun(flow, null, "Scheduled");
  state.countInBackfill(run, null, "Scheduled");
  turn.events.ofRun("run.scheduled", run);
  noteKeyedRun(turn, run);
  placeRun(turn, run, wanted.outcome ?? full);
  return run;
}

/** Queues a new run, or ends it at once; see `addRun` for its downstream runs. */
export function placeRun(turn: Turn, run: Run, given?: EndedAtOnce): void {
  // A run with a later scheduled time is subject to the overlap policy at that time.
  const isLater = run.scheduled_time !== null && run.scheduled_time > turn.nowUs;
  const overlap = given !== undefined || isLater ? null : overlapOutcome(run.flow, turn.nowUs);
  const outcome = given ?? overlap;
  if (overlap !== null) noteOverlap(turn, run);
  if (outcome === null) enqueue(turn, run);
  else enterState(turn, run, outcome.state, outcome.extra, "server", false);
}

function noteOverlap({ state, nowUs }: Turn, run: Run): void {
  const resource = concurrencyResource(run.flow);
  markOverlap(run, resource, state.ledger.firstHolders(resource, HOLDERS_NOTED), nowUs);
}
