/**
 * Event `park` of a report: a run that waits leaves its engine and its resources, and goes on in any engine when the first of
 * its waits settles. Not durable runs park for the delay before their next attempt.
 */
import { type Refusal, refuse } from "#protocol/errors";
import { INTEGER_MAX, PROGRESS_BYTES_MAX } from "#protocol/limits";
import type { ParkReport, WaitKind } from "#protocol/records/durable";
import type { State } from "#protocol/records/state";
import { newDurable, type RunDurable, type StoredWait } from "../../core/state/durable.ts";
import { leaveTaskRuns } from "../../core/state/parked-runs.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { enqueue, releaseRun } from "../hand-out/hand-out.ts";
import { enterState } from "../states/moves.ts";
import { decideTransition } from "../states/transition.ts";
import { noteAway, putPark } from "./away.ts";
import { lineageOf } from "./lineages.ts";
import { resumingAt } from "./settle.ts";

/** Waits listed in the details of a parked run's state; all are at GET /api/runs/{id}/waits. */
const LISTED_WAITS = 10;

/** The name of a parked run's state, by the kind of wait that decides it: the first of these kinds that is open. */
const NAMES: readonly (readonly [WaitKind, string])[] = [
  ["input", "Paused"],
  ["event", "AwaitingEvent"],
  ["callback", "AwaitingEvent"],
  ["child", "AwaitingChild"],
  ["sleep", "Sleeping"],
];

/** Why a park is refused: it is for nothing, or for a wait that does not exist. */
export function refusePark(turn: Turn, run: Run, { progress, waits, retry }: ParkReport): Refusal | null {
  if (progress != null && JSON.stringify(progress).length > PROGRESS_BYTES_MAX)
    return refuse("value_too_large", "progress", PROGRESS_BYTES_MAX);
  if (retry != null && turn.nowUs + retry.delay * 1e6 > INTEGER_MAX)
    return refuse("invalid", "retry.delay: times after the year 2255 cannot be stored");
  if (waits.length === 0 && retry == null) return refuse("invalid", "a park needs a wait or a retry delay");
  const lineage = lineageOf(turn.state, run);
  const unknown = waits.find((identity) => lineage === null || turn.state.durable.find(lineage, identity) === null);
  return unknown === undefined ? null : refuse("invalid", `run ${run.id} has no wait ${unknown}`);
}

/** Parks a run, or queues it at once if one of the waits has settled. A park outside the state table changes nothing. */
export function parkByReport(turn: Turn, run: Run, park: ParkReport): void {
  if (!run.assigned || run.state.type !== "Running") return;
  const lineage = lineageOf(turn.state, run);
  const waits = lineage === null ? [] : park.waits.map((identity) => turn.state.durable.find(lineage, identity));
  const open = waits.filter((wait): wait is StoredWait => wait !== null && wait.settled_at === null);
  const { retry = null } = park;
  const wakeAt = retry === null ? null : turn.nowUs + Math.round(retry.delay * 1e6);
  const isOver = open.length < park.waits.length;
  const proposed = isOver ? resumingAt(turn.nowUs) : stateOf(open, wakeAt, park);
  const decision = decideTransition(run.state, proposed, turn.nowUs, false);
  if (!decision.accepted) return;
  const durable = leave(turn, run, park);
  // Before the park is set, because a move ends it.
  enterState(turn, run, decision.state, null, "engine", false);
  if (!isOver) durable.park = { waits: open.map(({ id }) => id), wakeAt };
  releaseRun(turn, run);
  leaveTaskRuns(run, durable);
  turn.state.dropTexts(run, turn.number);
  putPark(turn, run, durable);
  if (isOver) return enqueue(turn, run);
  if (wakeAt !== null) turn.state.deadlines.add("wake", run.id, wakeAt);
}

/** What a run goes on with, and the time of its time limit that has passed. */
function leave(turn: Turn, run: Run, { hold, retry, progress }: ParkReport): RunDurable {
  run.durable ??= newDurable(null, null);
  const { durable } = run;
  // A time limit counts for an attempt, without the time in which no engine has the run.
  durable.ranUs = retry == null ? durable.ranUs + Math.max(0, turn.receivedUs - run.movedUs) : 0;
  if (retry != null) run.attempt += 1;
  durable.progress = progress == null ? null : JSON.stringify(progress);
  durable.holds = hold === true;
  noteAway(run, durable);
  return durable;
}

function stateOf(open: readonly StoredWait[], wakeAt: number | null, { retry, timestamp }: ParkReport): State {
  const due = Math.min(...open.map((wait) => wait.due ?? Number.POSITIVE_INFINITY), wakeAt ?? Number.POSITIVE_INFINITY);
  const listed = open.slice(0, LISTED_WAITS).map(({ kind, name, due }) => ({ kind, name, due }));
  const waiting = { ...(Number.isFinite(due) && { wake_at: due }), ...(listed.length > 0 && { waits: listed }) };
  if (retry != null) {
    const details = { ...retry.details, attempt: retry.attempt, ...waiting };
    return { type: "Scheduled", name: "AwaitingRetry", timestamp, message: retry.message ?? null, details };
  }
  const [kind, name] = NAMES.find(([each]) => open.some((wait) => wait.kind === each)) ?? ["sleep", "Sleeping"];
  if (kind !== "input") return { type: "Scheduled", name, timestamp, message: null, details: waiting };
  const asked = open.find((wait) => wait.kind === "input");
  const { question = {} } = JSON.parse(asked?.spec ?? "{}") as { question?: Record<string, unknown> };
  return { type: "Paused", name, timestamp, message: null, details: { ...question, ...waiting } };
}
