/** The registry of engines: registering and removing engines, sending them away, and signals to their processes. */
import type { WorkRequest } from "#protocol/records/engine";
import { type Engine, type EngineKey, engineKey } from "../../core/state/engine.ts";
import type { DispatchSettings } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import { engineKeyOf } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";
import { ENGINE_PROCESSES } from "../../names.ts";
import { answerPoll, takeBack } from "../hand-out/hand-out.ts";
import { crashRun, ENGINE_EXITED } from "../states/crash.ts";

/** What a request for work says about its engine. */
export type EngineRequest = Pick<
  WorkRequest,
  "engine_id" | "pid" | "source_dir" | "module" | "isolated" | "nice" | "host" | "owns_stop" | "run_id"
>;

/** The engine of a poll; an unknown engine is registered and its process watched. */
export function findOrRegisterEngine(turn: Turn, request: EngineRequest, local: boolean): Engine {
  const known = turn.state.engines.get(request.engine_id);
  if (known !== undefined) {
    // Re-insert at the end: the first entry is the engine that polled longest ago.
    turn.state.engines.delete(known.id);
    turn.state.engines.set(known.id, known);
    known.ownsStop = request.owns_stop === true;
    known.wanted = request.run_id ?? null;
    return known;
  }
  const { host } = turn.state.settings;
  const engine = newEngine(request.engine_id, request.pid, keyOfRequest(turn, request), turn);
  engine.host = request.host ?? null;
  engine.local = request.host == null ? local : request.host === host;
  engine.ownsStop = request.owns_stop === true;
  engine.wanted = request.run_id ?? null;
  addEngine(turn, engine);
  return engine;
}

/** An engine that wants a single run waits under that run's key. */
export function keyOfRequest(turn: Turn, { source_dir, module, isolated, nice, run_id }: EngineRequest): EngineKey {
  const wanted = run_id == null ? undefined : turn.state.runs.get(run_id);
  if (wanted !== undefined) return engineKeyOf(wanted);
  return engineKey({ source_dir, module, isolated: isolated ?? false, nice: nice ?? 0 });
}

export function newEngine(id: string, pid: number, key: EngineKey, { nowUs, state }: Turn): Engine {
  return {
    id,
    pid,
    key,
    spawned: false,
    local: true,
    host: null,
    pidStarted: null,
    stored: false,
    ownsStop: false,
    exchanges: false,
    exchange: 0,
    stopsOrdered: new Map(),
    wanted: null,
    firstSeenUs: nowUs,
    lastContactUs: state.uptimeUs(),
    lastWorkUs: nowUs,
    runsDone: 0,
    blockedSinceUs: null,
    blockedEventUs: Number.NEGATIVE_INFINITY,
    replaceReason: null,
    exitRequested: false,
    warnedOf: 0,
    runs: new Map(),
    poll: null,
  };
}

export function addEngine(turn: Turn, engine: Engine): void {
  turn.state.engines.set(engine.id, engine);
  const spawned = turn.state.pool.get(engine.id);
  engine.spawned = spawned !== undefined;
  if (spawned !== undefined) {
    spawned.polled = true;
    // An engine that it replaces may leave now.
    turn.state.demand.set(engine.key.text, engine.key);
  }
  if (!engine.local) return;
  const { id: engine_id, pid, pidStarted: pid_started } = engine;
  const { source_dir, module } = engine.key;
  turn.out.send(ENGINE_PROCESSES, { kind: "Watch", engine_id, pid, pid_started, source_dir, module });
}

/** The engine that holds a run now; a signal to its process concerns this run. */
export function holdingEngine(turn: Turn, run: Run): Engine | undefined {
  return run.assigned ? engineOf(turn, run) : undefined;
}

/** The engine that holds or last held a run. */
export function engineOf(turn: Turn, run: Run): Engine | undefined {
  return run.engine_id === null ? undefined : turn.state.engines.get(run.engine_id);
}

/** Removes an engine with its poll and its stored row, and stops watching its process. */
export function forgetEngine(turn: Turn, engine: Engine): void {
  if (engine.poll !== null) turn.state.queue.unpark(engine.poll);
  turn.state.engines.delete(engine.id);
  turn.state.formerProcesses.add(engine.id, engine.pid, turn.state.uptimeUs());
  if (engine.stored) turn.rows.put("delete_engine", { id: engine.id });
  if (engine.local) turn.out.send(ENGINE_PROCESSES, { kind: "Unwatch", engine_id: engine.id });
}

/** Whether a request comes from a process that has left its engine's name to another process. */
export function isOfFormerProcess({ state }: Turn, { engine_id, pid }: EngineRequest): boolean {
  const known = state.engines.get(engine_id);
  return known !== undefined && known.pid !== pid && state.formerProcesses.has(engine_id, pid, state.uptimeUs());
}

/** The process of an engine is gone: its runs end. */
export function engineGone(turn: Turn, engineId: string, cause: string | null, details: Record<string, unknown> = {}): void {
  turn.state.pool.delete(engineId);
  const engine = turn.state.engines.get(engineId);
  if (engine === undefined) return;
  // What its runs set free goes to other engines, not to the request that this one has left. That request gets an answer: the
  // gateway would send it to a restarted core, and it would take the engine's name from a newer process.
  if (engine.poll !== null) answerPoll(turn, engine.poll, []);
  endRuns(turn, engine, cause ?? ENGINE_EXITED, details);
  forgetEngine(turn, engine);
}

/**
 * Ends the runs of an engine whose process is gone. An engine that exchanges may have been given runs that it had not begun:
 * nothing of these was executed, so they wait again. Which of several begun runs was at fault is not known.
 */
export function endRuns(turn: Turn, engine: Engine, cause: string, details: Record<string, unknown> = {}): void {
  const held = [...engine.runs.values()];
  const begun = engine.exchanges ? held.filter(hasBegun) : held;
  const fault = begun.length > 1 ? { fault: "unknown" } : {};
  for (const run of held) if (engine.exchanges && !hasBegun(run)) takeBack(turn, run);
  for (const run of begun) crashRun(turn, run, cause, { ...details, ...fault });
}

/** Engines that exchange begin a run once the server has accepted its start, which they report. */
function hasBegun({ state, report_seq }: Run): boolean {
  return state.type !== "Scheduled" || report_seq > 0;
}

/** True when an engine is to be sent away at its next poll. */
export function mustLeave(turn: Turn, engine: Engine): boolean {
  const { settings, engines, pool } = turn.state;
  if (engine.runs.size > 0) return false;
  if (isLeaving(turn, engine)) return true;
  return !engine.spawned && engines.size - pool.size > settings.externalEnginesMax && !dropIdleEngine(turn, engine);
}

/** True when an engine gets no further runs, and leaves once it holds none. */
export function isLeaving(turn: Turn, engine: Engine): boolean {
  const { settings, stopping } = turn.state;
  if (stopping || engine.exitRequested) return true;
  if (engine.runsDone > 0 && engine.key.isolated) return true;
  // The pool ends its own engines once their successors are ready. An engine that polls leaves after its number of runs.
  return isWorn(settings, engine) && !(engine.spawned && engine.exchanges);
}

/** Whether an engine is to be replaced: it has done its number of runs, or has asked for it. */
export function isWorn({ engineRunsMax }: DispatchSettings, { runsDone, replaceReason }: Engine): boolean {
  return runsDone >= engineRunsMax || replaceReason !== null;
}

/**
 * Makes room for an external engine: removes the engine with the oldest contact that neither holds a run nor waits for work.
 * If that engine polls again, it counts as new. False when all engines hold runs or wait.
 */
function dropIdleEngine(turn: Turn, newcomer: Engine): boolean {
  for (const engine of turn.state.engines.values()) {
    if (engine === newcomer || engine.spawned || engine.poll !== null || engine.runs.size > 0) continue;
    forgetEngine(turn, engine);
    return true;
  }
  return false;
}

/**
 * Signals an engine's process on this host, once the decision is committed: should the store refuse it, the runs of the engine
 * go on. The main thread verifies that the process is still this engine.
 */
export function signalEngine(turn: Turn, engine: Engine, signal: "SIGTERM" | "SIGKILL"): void {
  if (engine.local) turn.sendAfterCommit(ENGINE_PROCESSES, { kind: "Signal", engine_id: engine.id, pid: engine.pid, signal });
}
