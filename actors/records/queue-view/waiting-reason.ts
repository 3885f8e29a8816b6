/** Why a run waits, in words, and which runs hold what it waits for. */
import { engineLine } from "#protocol/engine-command";
import type { QueuedRun, ResourceHolder } from "#protocol/records/queue";
import type { Park } from "../../core/state/durable.ts";
import type { FailedStarts, LiveState } from "../../core/state/live-state.ts";
import { needsOf, type Run } from "../../core/state/run.ts";
import { engineKeyOf } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";
import { isSpawnable, lacksSlot, patternOf } from "../../dispatcher/engines/engine-pool.ts";
import { lackOf } from "../../dispatcher/hand-out/lack.ts";
import { isRunningFull } from "../../dispatcher/hand-out/running-cap.ts";

export type Reason = QueuedRun["reason"];

export function reasonOf(turn: Turn, run: Run): Reason | null {
  if (run.state.type !== "Scheduled") return null;
  const { state } = turn;
  if (run.assigned) {
    const text = `handed to engine ${run.engine_id}, which has not started it yet`;
    return { code: "assigned", object: run.engine_id, text, since: turn.nowUs - (state.uptimeUs() - run.lastContactUs) };
  }
  if (run.durable !== null && run.durable.park !== null) {
    return { code: "waits", object: null, text: awaitedBy(state, run.durable.park), since: run.state.timestamp };
  }
  const since = run.waiting?.sinceUs ?? run.state.timestamp;
  switch (run.place) {
    case "future":
      return { code: "not_due", object: null, text: "its scheduled time has not come", since };
    case "held":
      return { code: "held", object: run.waiting?.object ?? null, text: holdOf(state, run), since };
    case "blocked":
    case "behind": {
      const { resource, text } = lackOf(state, run, needsOf(run), { blocking: run.waiting?.object ?? "" });
      return { code: "resource", object: resource, text, since };
    }
    default:
      return reasonWithoutEngine(state, run, since);
  }
}

/** Waits that are named; the rest is counted. */
const NAMED_WAITS = 3;

/** What a run without an engine waits for, and until when. */
function awaitedBy(state: LiveState, { waits, wakeAt }: Park): string {
  const open = waits.flatMap((id) => state.durable.openWait(id) ?? []);
  const named = open
    .slice(0, NAMED_WAITS)
    .map(({ kind, name, due }) => `${kind} "${name}"${due === null ? "" : ` until ${timeText(due)}`}`);
  if (wakeAt !== null) named.unshift(`its next attempt at ${timeText(wakeAt)}`);
  const more = open.length > NAMED_WAITS ? ` and ${open.length - NAMED_WAITS} more` : "";
  return `it has left its engine and waits for ${named.join(", ")}${more}`;
}

function timeText(us: number): string {
  return new Date(us / 1_000).toISOString();
}

function holdOf({ backfills }: LiveState, { backfill_id }: Run): string {
  const isCancelled = backfill_id !== null && backfills.get(backfill_id)?.cancelled;
  return isCancelled ? "its backfill is being cancelled" : "it waits for a check of its backfill";
}

function reasonWithoutEngine(state: LiveState, run: Run, since: number): Reason {
  const { module } = run.flow;
  const key = engineKeyOf(run);
  const polled = [...state.engines.values()].some((engine) => engine.key.text === key.text);
  if (!polled && !(state.settings.spawnEngines && isSpawnable(state, module))) {
    return { code: "no_engine_for_module", object: module, text: howToGetEngine(state, module), since };
  }
  const failed = state.failedStarts.get(key.text);
  if (!polled && failed !== undefined) {
    return { code: "engine_start_failed", object: module, text: whyNoEngineStarts(state, module, failed), since };
  }
  if (isRunningFull(state)) {
    const text = `all ${state.settings.runningMax} runs that may run at a time ([server] max_running) are with their engines`;
    return { code: "max_running", object: null, text, since };
  }
  if (lacksSlot(state, key)) {
    const text = `every place of the engine pool is taken (${state.settings.enginesMax}), none by an idle engine`;
    return { code: "no_engine_slot", object: module, text, since };
  }
  return { code: "no_engine", object: module, text: `no engine for the module ${module} is free`, since };
}

function howToGetEngine({ settings }: LiveState, module: string): string {
  const none = `no engine polls for the module ${module}`;
  if (!settings.spawnEngines) return `${none}, and the server was told to start none: start one`;
  return `${none}: write ${engineLine(module)} under [engines] in millrace.toml and start the server again, or start an engine`;
}

function whyNoEngineStarts(state: LiveState, module: string, { cause }: FailedStarts): string {
  const pattern = patternOf(state, module);
  const hint = pattern === undefined ? "" : `; see the command of ${JSON.stringify(pattern)} under [engines] in millrace.toml`;
  return `engines for the module ${module} end before they ask for work: ${cause ?? "why is not known"}${hint}`;
}

/** Why the code of a run waits for a lease, or null if it does not. */
export function leaseReasonOf(state: LiveState, run: Run): Reason | null {
  const waiting = state.ledger.lines.ofRun(run.id);
  if (waiting === undefined) return null;
  const { resource, text } = lackOf(state, run, waiting.resources, { isBehind: state.ledger.lines.isBehind(waiting) });
  return { code: "resource", object: resource, text: `its code waits for a lease: ${text}`, since: waiting.sinceUs };
}

export function holdersOf(turn: Turn, resource: string): ResourceHolder[] {
  return turn.state.ledger.holdersOf(resource).map((lease) => {
    const holder = turn.state.runs.get(lease.run_id);
    return {
      run_id: lease.run_id,
      run_name: holder === undefined ? "" : turn.state.textsOf(holder).name,
      amount: lease.resources[resource] ?? 0,
      kind: lease.kind,
      held_secs: secondsSince(turn, lease.sinceUs),
    };
  });
}

function secondsSince(turn: Turn, us: number): number {
  return Math.max(0, turn.nowUs - us) / 1e6;
}
