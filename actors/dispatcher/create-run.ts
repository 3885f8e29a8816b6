/** Creates runs: the only place where runs are created, for every kind of creator. */
import { type Refusal, refuse } from "#protocol/errors";
import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import type { State } from "#protocol/state";
import type { Flow } from "../live-state/flow.ts";
import { NO_DETAILS, type Run, UNSTARTED } from "../live-state/run.ts";
import { SERVER_LOG } from "../names.ts";
import { continueChain } from "../rules/chain.ts";
import type { Turn } from "../turn.ts";
import { noteKeyedRun } from "./fan-in.ts";
import { enqueue } from "./hand-out.ts";
import { moveRun } from "./moves.ts";
import { overlapOutcome } from "./overlap.ts";
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
  /** The run that this run follows from, if any. */
  follows?: Run;
  attempt?: number;
  reruns?: number;
  priority?: number;
  details?: Record<string, unknown>;
  /** The state in which the run ends at creation, regardless of the overlap policy. */
  outcome?: EndedAtOnce;
  /** The run needs no free room, because it replaces a run that occupied some. */
  hasPlace?: true;
}

/** A state in which a run ends at creation, and the extra payload of its event. */
export interface EndedAtOnce {
  state: State;
  extra: Record<string, unknown> | null;
}

/** Creates a run and queues it, or ends it at once according to the flow's overlap policy. */
export function createRun(turn: Turn, flow: Flow, wanted: NewRun): Run {
  const { state } = turn;
  const id = state.nextIds.run;
  state.nextIds.run += 1;
  const scheduled: State = {
    type: "Scheduled",
    name: "Scheduled",
    timestamp: turn.nowUs,
    message: null,
    details: wanted.details ?? NO_DETAILS,
  };
  const run: Run = {
    id,
    external_id: turn.ids.uuid(),
    flow,
    name: wanted.name ? wanted.name : nameOfRun(id),
    parametersText: wanted.parametersText,
    tags: [...new Set([...flow.tags, ...wanted.tags])],
    priority: wanted.priority ?? flow.options.priority,
    attempt: wanted.attempt ?? 0,
    reruns: wanted.reruns ?? 0,
    created_by: wanted.createdBy,
    created_at: turn.nowUs,
    scheduled_time: wanted.scheduledTime ?? null,
    schedule_id: wanted.scheduleId ?? null,
    backfill_id: wanted.backfillId ?? null,
    parent_run_id: wanted.parentRunId ?? null,
    state: scheduled,
    movedUs: turn.receivedUs,
    ...UNSTARTED,
  };
  if (wanted.parametersText.length > PARAMETERS_IN_MEMORY_BYTES_MAX) state.dropLargeParameters(run, turn.number);
  turn.newRun(run);
  const full = wanted.hasPlace === true || state.room.hasFor(1) ? undefined : endForLackOfRoom(turn);
  state.room.count(run);
  if (wanted.follows !== undefined || turn.ruleDepth > 0) continueChain(turn, run, wanted.follows ?? run);
  turn.countRun(flow, null, "Scheduled");
  state.countInBackfill(run, null, "Scheduled");
  turn.runEvent("run.scheduled", run);
  noteKeyedRun(turn, run);
  admitRun(turn, run, wanted.outcome ?? full);
  return run;
}

/**
 * The end of a run that finds no room when a schedule or another run creates it: no client would see a refusal, but a Failed
 * run can be retried.
 */
function endForLackOfRoom(turn: Turn): EndedAtOnce {
  logLackOfRoom(turn);
  const { message } = refuse("no_room_for_runs", 1, turn.state.room.max);
  const details = { reason: "no_room" };
  return { state: { type: "Failed", name: "Failed", timestamp: turn.nowUs, message, details }, extra: null };
}

function logLackOfRoom({ state, nowUs, out }: Turn): void {
  if (!state.room.isToBeTold(nowUs)) return;
  const text = `${state.room.max} runs are unfinished, the most that may be ([server] max_unfinished_runs): requests for further runs are answered 503, runs of schedules and of flows that follow others fail`;
  out.send(SERVER_LOG, { level: "warn", text });
}

/** The refusal of this many further runs, or null when there is room. */
export function lackOfRoom(turn: Turn, runs: number): Refusal | null {
  const { room } = turn.state;
  if (room.hasFor(runs)) return null;
  logLackOfRoom(turn);
  return refuse("no_room_for_runs", runs, room.max);
}

/** Queues a new run, or ends it at once. */
export function admitRun(turn: Turn, run: Run, given?: EndedAtOnce): void {
  // A run with a later scheduled time is subject to the overlap policy at that time.
  const isLater = run.scheduled_time !== null && run.scheduled_time > turn.nowUs;
  const outcome = given ?? (isLater ? null : overlapOutcome(run.flow, turn.nowUs));
  if (outcome === null) enqueue(turn, run);
  else moveRun(turn, run, outcome.state, outcome.extra);
}
