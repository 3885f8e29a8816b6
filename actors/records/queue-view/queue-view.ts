/** GET /api/queue and GET /api/runs/{id}/explain: what waits, for what, and its place in line. */

import { refuse } from "#protocol/errors";
import type { Queue, QueuedRun, QueueReason, RunExplanation } from "#protocol/records/queue";
import type { Command } from "#protocol/wire/command";
import type { LiveState } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { type Line, lineOf, positionOf, positionsOf, surveyQueue } from "./queue-lines.ts";
import { holdersOf, leaseReasonOf, type Reason, reasonOf } from "./waiting-reason.ts";

/** Maximum of listed runs; people look at the front of the queue. */
const LISTED_MAX = 500;

export function describeQueue(turn: Turn): Queue {
  const { state } = turn;
  const { waiting, lines, front } = surveyQueue(state, LISTED_MAX);
  const places = positionsOf(front);
  const reasons = new Map<string, Reason | null>();
  const lacking = countLacking(lines);
  const leases = state.ledger.lines.counts();
  return {
    waiting,
    reasons: reasonsOf(turn, lines),
    runs: front.map((run) => describeRun(state, run, reasonInLine(turn, run, reasons), places.get(run) ?? null)),
    resources: state.ledger.list().map(({ name, total, used }) => ({
      name,
      total,
      used,
      waiting: (lacking.get(name) ?? 0) + (leases.get(name) ?? 0),
      holders: holdersOf(turn, name),
    })),
    engines: [...state.engines.values()].map((engine) => ({
      id: engine.id,
      module: engine.key.module,
      source_dir: engine.key.source_dir,
      run_ids: [...engine.runs.keys()],
      idle: engine.poll !== null,
      contact_secs: (state.uptimeUs() - engine.lastContactUs) / 1e6,
      blocked_since: engine.blockedSinceUs,
    })),
  };
}

export function explainRun(turn: Turn, command: Command): void {
  const { state } = turn;
  const run = state.lookAtRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  const reason = reasonOf(turn, run) ?? leaseReasonOf(state, run);
  const explanation: RunExplanation = {
    run_id: run.id,
    state: run.state,
    reason,
    place: positionOf(state, run),
    holders: reason?.code === "resource" && reason.object !== null ? holdersOf(turn, reason.object) : [],
    blocked: blockOf(state, run),
  };
  turn.answers.json(command, 200, explanation);
}

/** Whether the engine of a run is held by code that does not return to its event loop. */
function blockOf(state: LiveState, run: Readonly<Run>): RunExplanation["blocked"] {
  const engine = run.assigned ? state.engines.get(run.engine_id ?? "") : undefined;
  if (engine === undefined || engine.blockedSinceUs === null) return null;
  const alone = engine.runs.size === 1;
  const text = alone
    ? `its code holds the thread of engine ${engine.id}, which executes no other run`
    : `code of one of the ${engine.runs.size} runs in engine ${engine.id} holds its thread, and the others wait`;
  return { engine_id: engine.id, since: engine.blockedSinceUs, text, run_ids: [...engine.runs.keys()] };
}

function describeRun(state: LiveState, run: Run, reason: Reason | null, place: number | null): QueuedRun {
  const { external_id, name } = state.textsOf(run);
  return {
    run_id: run.id,
    external_id,
    name,
    flow: run.flow.name,
    project: run.flow.project,
    priority: run.priority,
    state: run.state,
    scheduled_time: run.scheduled_time,
    reason: reason ?? { code: "held", object: null, text: "it is being decided", since: run.state.timestamp },
    place,
  };
}

/** Cached per key: all runs of a line wait for the same engines, and computing the reason scans every engine. */
function reasonInLine(turn: Turn, run: Run, known: Map<string, Reason | null>): Reason | null {
  const line = run.place === "ready" ? lineOf(run) : null;
  if (line === null) return reasonOf(turn, run);
  const reason = known.get(line) ?? reasonOf(turn, run);
  known.set(line, reason);
  return reason === null ? null : { ...reason, since: run.waiting?.sinceUs ?? run.state.timestamp };
}

/** The reasons of all waiting runs, the most frequent first. */
function reasonsOf(turn: Turn, lines: readonly Line[]): QueueReason[] {
  const reasons = lines.flatMap(({ first, count, sinceUs, dueUs }) => {
    const reason = reasonOf(turn, first);
    if (reason === null) return [];
    const { code, object, text } = reason;
    const retries = first.state.name === "AwaitingRetry";
    return [{ code, object, text, retries, count, since: sinceUs, due: code === "not_due" ? dueUs : null }];
  });
  return reasons.sort((a, b) => b.count - a.count);
}

/** Number of runs that wait for each resource. */
function countLacking(lines: readonly Line[]): Map<string, number> {
  const lacking = new Map<string, number>();
  for (const { first, count } of lines) {
    const { waiting, place } = first;
    if (place === "ready" || waiting?.code !== "resource" || waiting.object === null) continue;
    lacking.set(waiting.object, (lacking.get(waiting.object) ?? 0) + count);
  }
  return lacking;
}
