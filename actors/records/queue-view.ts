/** GET /api/queue and GET /api/runs/{id}/explain: what waits, for what, and how far back in line. */
import type { Command } from "#protocol/command";
import { refuse } from "#protocol/errors";
import type { Queue, QueuedRun, QueueReason, ResourceHolder, RunExplanation } from "#protocol/queue";
import { isSpawnable, lacksSlot } from "../dispatcher/pool.ts";
import { inOrder, keyOfRun } from "../dispatcher/queue.ts";
import type { LiveState } from "../live-state/live-state.ts";
import { needsOf, type Run } from "../live-state/run.ts";
import type { Turn } from "../turn.ts";

/** Runs listed at once; people look at the front of the queue. */
const LISTED_MAX = 500;

type Reason = QueuedRun["reason"];

export function describeQueue(turn: Turn): Queue {
  const { state } = turn;
  const waiting = [...state.runs.values()].filter((run) => run.place !== "none").sort(inOrder);
  const places = placesOf(waiting);
  return {
    waiting: waiting.length,
    reasons: reasonsOf(turn, waiting),
    runs: waiting.slice(0, LISTED_MAX).map((run) => describeRun(turn, run, places.get(run) ?? null)),
    resources: state.ledger.list().map(({ name, total, used }) => ({
      name,
      total,
      used,
      waiting: waiting.filter((run) => run.waiting?.code === "resource" && run.waiting.object === name).length,
      holders: holdersOf(turn, name),
    })),
    engines: [...state.engines.values()].map((engine) => ({
      id: engine.id,
      module: engine.key.module,
      source_dir: engine.key.source_dir,
      run_ids: [...engine.runs],
      idle: engine.poll !== null,
      contact_secs: secondsSince(turn, engine.lastContactUs),
    })),
  };
}

export function explainRun(turn: Turn, command: Command): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.refuse(command, refuse("run_not_found", command.target));
  const reason = reasonOf(turn, run);
  const rivals = [...turn.state.runs.values()].filter((other) => other.place !== "none").sort(inOrder);
  const explanation: RunExplanation = {
    run_id: run.id,
    state: run.state,
    reason,
    place: placesOf(rivals).get(run) ?? null,
    holders: reason?.code === "resource" && reason.object !== null ? holdersOf(turn, reason.object) : [],
  };
  turn.replyJson(command, 200, explanation);
}

function describeRun(turn: Turn, run: Run, place: number | null): QueuedRun {
  return {
    run_id: run.id,
    external_id: run.external_id,
    name: run.name,
    flow: run.flow.name,
    project: run.flow.project,
    priority: run.priority,
    state: run.state,
    scheduled_time: run.scheduled_time,
    reason: reasonOf(turn, run) ?? { code: "held", object: null, text: "it is being decided", since: run.state.timestamp },
    place,
  };
}

/** The reasons of all that wait. Runs of one line have one reason, so it is found once for each line. */
function reasonsOf(turn: Turn, waiting: readonly Run[]): QueueReason[] {
  const lines = Map.groupBy(waiting, (run) => `${run.assigned} ${run.place} ${lineOf(run)}`);
  const reasons = [...lines.values()].flatMap((members) => {
    const [first] = members;
    const reason = first === undefined ? null : reasonOf(turn, first);
    if (first === undefined || reason === null) return [];
    const { code, object, text } = reason;
    const since = least(members.map((run) => run.waiting?.sinceUs ?? run.state.timestamp));
    const due = code === "not_due" ? least(members.map((run) => run.scheduled_time)) : null;
    const retries = first.state.name === "AwaitingRetry";
    return [{ code, object, text, retries, count: members.length, since: since ?? reason.since, due }];
  });
  return reasons.sort((a, b) => b.count - a.count);
}

function least(times: readonly (number | null)[]): number | null {
  return times.reduce((least, time) => (time === null || (least !== null && least <= time) ? least : time), null);
}

/** What a run waits for: engines of its kind, a resource, its time, or the next attempt. */
function lineOf(run: Run): string {
  if (run.place === "ready") return keyOfRun(run);
  return run.place === "future" ? run.state.name : `resource ${run.waiting?.object}`;
}

/** Runs compete with those that wait for the same engines, or for the same resource. */
function placesOf(waiting: readonly Run[]): Map<Run, number> {
  const counted = new Map<string, number>();
  const places = new Map<Run, number>();
  for (const run of waiting) {
    if (run.place === "future" || run.place === "held") continue;
    const line = lineOf(run);
    const place = (counted.get(line) ?? 0) + 1;
    counted.set(line, place);
    places.set(run, place);
  }
  return places;
}

function reasonOf(turn: Turn, run: Run): Reason | null {
  const { state } = turn;
  if (run.state.type !== "Scheduled") return null;
  if (run.assigned) {
    const text = `handed to engine ${run.engine_id}, which has not started it yet`;
    return { code: "assigned", object: run.engine_id, text, since: run.lastContactUs };
  }
  const since = run.waiting?.sinceUs ?? run.state.timestamp;
  switch (run.place) {
    case "future":
      return { code: "not_due", object: null, text: "its scheduled time has not come", since };
    case "held":
      return { code: "held", object: run.waiting?.object ?? null, text: holdOf(state, run), since };
    case "blocked":
    case "behind":
      return { code: "resource", object: run.waiting?.object ?? null, text: lackOf(state, run), since };
    default:
      return reasonWithoutEngine(state, run, since);
  }
}

function holdOf({ backfills }: LiveState, { backfill_id }: Run): string {
  const isCancelled = backfill_id !== null && backfills.get(backfill_id)?.cancelled;
  return isCancelled ? "its backfill is being cancelled" : "it waits for a check of its backfill";
}

function reasonWithoutEngine(state: LiveState, run: Run, since: number): Reason {
  const { module } = run.flow;
  const polled = [...state.engines.values()].some((engine) => engine.keyText === keyOfRun(run));
  if (!polled && !(state.settings.spawnEngines && isSpawnable(state, module))) {
    return { code: "no_engine_for_module", object: module, text: `no engine polls for the module ${module}`, since };
  }
  if (lacksSlot(state, keyOfRun(run))) {
    const text = `every place of the engine pool is taken (${state.settings.enginesMax}), none by an idle engine`;
    return { code: "no_engine_slot", object: module, text, since };
  }
  return { code: "no_engine", object: module, text: `no engine for the module ${module} is free`, since };
}

function lackOf(state: LiveState, run: Run): string {
  const name = run.waiting?.object ?? "";
  return `it needs ${needsOf(run)[name] ?? 0} of ${name}; ${state.ledger.usedOf(name)} of ${state.ledger.totalOf(name)} are held`;
}

function holdersOf(turn: Turn, resource: string): ResourceHolder[] {
  return turn.state.ledger.holdersOf(resource).map((lease) => ({
    run_id: lease.run_id,
    run_name: turn.state.runs.get(lease.run_id)?.name ?? "",
    amount: lease.resources[resource] ?? 0,
    kind: lease.kind,
    held_secs: secondsSince(turn, lease.sinceUs),
  }));
}

function secondsSince(turn: Turn, us: number): number {
  return Math.max(0, turn.nowUs - us) / 1e6;
}
