/**
 * Jobs for engines other than runs: crash hooks and bulk-completion checks. Jobs are given out before runs, and retried until
 * answered or tried three times.
 */
import type { Engine, EngineKey } from "../../core/state/engine.ts";
import type { Flow } from "../../core/state/flow.ts";
import type { EngineJob, LiveState } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { SERVER_LOG } from "../../names.ts";
import { answerPoll, holdsExclusive } from "../hand-out/hand-out.ts";
import { renderBulkItem, renderHooksItem } from "../hand-out/work-item.ts";

const TRIES_MAX = 3;
/** Maximum of waiting crash hooks per engine key; they are kept in memory only. */
const JOBS_WAITING_MAX = 1_000;
/** How long an engine may work on a job before another engine gets it. */
const ANSWER_US = 60_000_000;
/** How long the last try of a bulk-completion check may take before the backfill continues without the check. */
const LAST_TRY_US = 600_000_000;

/** Queues the crash hooks of a run for an engine of its flow. No answer is expected, so the job is given out once. */
export function queueCrashHooks(turn: Turn, run: Run): void {
  const { state } = turn;
  queueJob(turn, newJob(state.jobKey(run.flow), renderHooksItem(run, state.textsOf(run)), TRIES_MAX - 1, null));
}

/** Queues the bulk-completion check of a backfill, whose runs wait for the answer. */
export function queueBulkCheck(turn: Turn, flow: Flow, backfillId: number): void {
  queueJob(turn, newJob(turn.state.jobKey(flow), renderBulkItem(flow, backfillId), 0, backfillId));
}

function newJob(key: EngineKey, itemText: string, tries: number, backfillId: number | null): EngineJob {
  return { key, itemText, tries, backfillId, engineId: null, givenUs: 0 };
}

/** Removes a check that is answered or no longer needed. */
export function dropBulkCheck(state: LiveState, backfillId: number): void {
  for (const [keyText, jobs] of state.jobs) {
    const left = jobs.filter((job) => job.backfillId !== backfillId);
    if (left.length === 0) state.jobs.delete(keyText);
    else state.jobs.set(keyText, left);
  }
}

function queueJob(turn: Turn, job: EngineJob): void {
  const { state } = turn;
  const { key } = job;
  const waiting = state.jobs.get(key.text) ?? [];
  waiting.push(job);
  state.jobs.set(key.text, waiting);
  if (waiting.length > JOBS_WAITING_MAX) dropOldestHook(turn, waiting);
  state.demand.set(key.text, key);
  for (const poll of state.queue.pollsFor(key)) {
    const taken = takeJob(turn, poll.engine);
    if (taken === null) continue;
    return answerPoll(turn, poll, [taken.itemText]);
  }
}

/** Drops the oldest crash hook: no engine of the flow has polled for a long time. */
function dropOldestHook(turn: Turn, waiting: EngineJob[]): void {
  const oldest = waiting.findIndex(({ backfillId }) => backfillId === null);
  if (oldest < 0) return;
  waiting.splice(oldest, 1);
  const text = `a crash hook is left out: ${JOBS_WAITING_MAX} wait for an engine of their flow, and none asks for work`;
  turn.out.send(SERVER_LOG, { level: "warn", text });
}

/** The next job for an engine, or null. */
export function takeJob(turn: Turn, engine: Engine): EngineJob | null {
  const { state } = turn;
  if (engine.wanted !== null || holdsExclusive(engine.runs)) return null;
  const waiting = state.jobs.get(engine.key.text);
  const job = waiting?.find((each) => isFree(each, engine, turn.nowUs));
  if (waiting === undefined || job === undefined) return null;
  job.tries += 1;
  job.engineId = engine.id;
  job.givenUs = turn.nowUs;
  if (job.tries >= TRIES_MAX) {
    waiting.splice(waiting.indexOf(job), 1);
    if (job.backfillId !== null) state.deadlines.waitForCheck(job.backfillId, LAST_TRY_US);
  }
  if (waiting.length === 0) state.jobs.delete(engine.key.text);
  return job;
}

/**
 * True when no engine works on the job: it is new, its engine polls again, or its engine has not answered for ANSWER_US. An
 * engine that exchanges asks for runs while it works on the job.
 */
function isFree(job: EngineJob, engine: Engine, nowUs: number): boolean {
  const pollsAgain = job.engineId === engine.id && engine.exchange === 0;
  return job.engineId === null || pollsAgain || Math.abs(nowUs - job.givenUs) > ANSWER_US;
}
