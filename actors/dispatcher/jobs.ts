/** Jobs for engines that are no runs: crash hooks. A job is given out before runs, and again until it is answered or tried three times. */
import type { Engine } from "../live-state/engine.ts";
import type { EngineJob, LiveState } from "../live-state/live-state.ts";
import type { Run } from "../live-state/run.ts";
import type { Turn } from "../turn.ts";
import { renderHooksItem } from "./work-item.ts";

const TRIES_MAX = 3;

/** Queues the crash hooks of a run; they go to an engine of its flow. No answer is expected, so it is given out once. */
export function queueHooks(turn: Turn, run: Run): void {
  const { state } = turn;
  const keyText = state.jobKey(run.flow);
  const job: EngineJob = { itemText: renderHooksItem(run, state.parametersOf(run)), tries: TRIES_MAX - 1 };
  state.jobs.set(keyText, [...(state.jobs.get(keyText) ?? []), job]);
  const first = state.queue.find(keyText)?.polls.values().next().value;
  if (first === undefined) return;
  const taken = takeJob(state, first.engine);
  if (taken === null) return;
  state.queue.unpark(first);
  turn.decision.replies.push(first.command, 200, taken.itemText);
}

/** The next job for an engine, or null. */
export function takeJob(state: LiveState, engine: Engine): EngineJob | null {
  const waiting = state.jobs.get(engine.keyText);
  const job = waiting?.[0];
  if (waiting === undefined || job === undefined) return null;
  job.tries += 1;
  if (job.tries >= TRIES_MAX) waiting.shift();
  if (waiting.length === 0) state.jobs.delete(engine.keyText);
  return job;
}
