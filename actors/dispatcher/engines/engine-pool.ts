/**
 * The engine pool: decides when to start an engine process and when an engine must leave. The processes are managed on the
 * main thread.
 *
 * For each key with ready runs, engines are started until the number of starting engines covers the runs, up to the bound.
 * When the pool is full, an idle engine of another key is sent away. If none is idle for a second, an engine drains: it gets no
 * further runs and leaves after the last one. The bound counts engines that accept runs; as many again may drain. After an
 * engine that ended before its first poll, its key is retried with a growing delay.
 *
 * A worn engine is replaced without a gap: its successor is started first, and the worn engine accepts runs until the successor
 * asks for work.
 */

import { FLOW_MODULE } from "#protocol/flow-module";
import type { Engine, EngineKey } from "../../core/state/engine.ts";
import type { LiveState, PoolEngine } from "../../core/state/live-state.ts";
import { hasWaited } from "../../core/state/run.ts";
import type { KeyQueue } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";
import { matchesPattern } from "../../engine-processes/command-pattern.ts";
import { ENGINE_PROCESSES } from "../../names.ts";
import { sendAway } from "../hand-out/work.ts";
import { isWorn } from "./registered-engines.ts";

/** An engine idle for this long is sent away to free its memory; starting it again takes a fraction of a second. */
const IDLE_EXIT_US = 300_000_000;
/** Runs that have waited this long on a full pool make an engine drain. */
const WAITED_US = 1_000_000;
const RETRY_FIRST_US = 500_000;
const RETRY_MAX_US = 30_000_000;

/** The module of the jobs in the settings, which the bundled engine executes like flow files. */
const JOBS_MODULE = "millrace.toml";

export class EnginePool {
  #started = 0;

  /** New engines are numbered above those that were started before a restart of the dispatcher. */
  adopt(engineId: string, serverPid: number): void {
    const [, pid, number] = engineId.split("-");
    if (Number(pid) === serverPid) this.#started = Math.max(this.#started, Number(number) || 0);
  }

  /** Starts missing engines for the keys with announced demand. */
  adjust(turn: Turn): void {
    const { state } = turn;
    if (!state.poolKnown) return;
    if (state.settings.spawnEngines && !state.stopping) {
      for (const key of state.demand.values()) {
        this.#adjustKey(turn, key);
        this.#replaceWorn(turn, key);
      }
    }
    // Not cleared: see ADR 47.
    state.demand = new Map();
  }

  /** Checks every key again and sends away engines that have been idle for long. */
  tick(turn: Turn): void {
    const { state } = turn;
    for (const queue of state.queue.keys()) if (queue.readyCount > 0) state.demand.set(queue.key.text, queue.key);
    for (const [job] of state.jobs.values()) if (job !== undefined) state.demand.set(job.key.text, job.key);
    for (const { id, key } of state.pool.values()) if (waitsForSuccessor(state, id)) state.demand.set(key.text, key);
    for (const poll of [...state.queue.polls()]) {
      const idleUs = turn.nowUs - poll.engine.lastWorkUs;
      if (poll.engine.spawned && poll.engine.runs.size === 0 && idleUs > IDLE_EXIT_US) sendAway(turn, poll.engine);
    }
    for (const queue of state.queue.keys()) makePlace(turn, queue);
    this.adjust(turn);
  }

  /** An engine process of the pool is gone; `polled` is true if it ever asked for work. */
  gone(turn: Turn, { id, key, toldFailure }: PoolEngine, polled: boolean, cause: string | null): void {
    const { state, nowUs } = turn;
    if (polled) {
      state.failedStarts.delete(key.text);
      return;
    }
    const former = state.failedStarts.get(key.text);
    const count = (former?.count ?? 0) + 1;
    const retryUs = nowUs + Math.min(RETRY_MAX_US, RETRY_FIRST_US * 2 ** (count - 1));
    state.failedStarts.set(key.text, { count, retryUs, cause });
    // Later attempts usually fail for the same cause, which is logged once.
    if (cause !== null && cause !== former?.cause && toldFailure !== true)
      turn.out.send(ENGINE_PROCESSES, { kind: "StartFailed", engine_id: id, module: key.module, cause });
    state.demand.set(key.text, key);
  }

  #adjustKey(turn: Turn, key: EngineKey): void {
    const { state } = turn;
    if (!isSpawnable(state, key.module) || isPaused(turn, key)) return;
    const wanted = (state.queue.find(key)?.readyCount ?? 0) + (state.jobs.get(key.text)?.length ?? 0);
    let starting = 0;
    for (const engine of state.pool.values()) if (engine.key.text === key.text && !engine.polled) starting += 1;
    for (; starting < wanted; starting += 1) {
      if (isFull(state) && !makeRoom(turn, key)) return;
      if (isFull(state)) return;
      this.#spawn(turn, key);
    }
  }

  /** A former server may have had the same process id, and its engines may have survived it. */
  #nextId({ settings, engines, pool }: LiveState): string {
    for (;;) {
      this.#started += 1;
      const id = `engine-${settings.serverPid}-${this.#started}`;
      if (!engines.has(id) && !pool.has(id)) return id;
    }
  }

  /** Starts the successors of worn engines of a key, and ends worn engines whose successor is ready. */
  #replaceWorn(turn: Turn, key: EngineKey): void {
    const { state } = turn;
    for (const worn of [...state.pool.values()]) {
      const engine = state.engines.get(worn.id);
      if (worn.key.text !== key.text || engine === undefined || !waitsForSuccessor(state, worn.id)) continue;
      const successor = worn.successor === undefined ? undefined : state.pool.get(worn.successor);
      if (successor?.polled === true) drain(turn, engine);
      else if (successor === undefined && state.pool.size < 2 * state.settings.enginesMax && !isPaused(turn, key))
        worn.successor = this.#spawn(turn, key);
    }
  }

  #spawn(turn: Turn, key: EngineKey): string {
    const id = this.#nextId(turn.state);
    turn.state.pool.set(id, { id, key, startedUs: turn.nowUs, polled: false });
    turn.out.send(ENGINE_PROCESSES, { kind: "Spawn", engine_id: id, key });
    return id;
  }
}

/** Whether an engine of the pool accepts runs only until its successor is ready. */
function waitsForSuccessor({ engines, settings }: LiveState, id: string): boolean {
  const engine = engines.get(id);
  return engine?.exchanges === true && !engine.exitRequested && !engine.key.isolated && isWorn(settings, engine);
}

/** Whether engines of a key failed so recently that none is started. */
function isPaused({ state, nowUs }: Turn, key: EngineKey): boolean {
  // A delay beyond the maximum was computed before the wall clock was set back.
  const pauseUs = (state.failedStarts.get(key.text)?.retryUs ?? 0) - nowUs;
  return pauseUs > 0 && pauseUs <= RETRY_MAX_US;
}

/** An engine that drains gets no further runs, and leaves after its last one. */
function drain(turn: Turn, engine: Engine): void {
  engine.exitRequested = true;
  sendAway(turn, engine);
}

/** Whether no further engine may be started: as many as may be accept runs, or too many drain. */
function isFull(state: LiveState): boolean {
  const { settings, pool } = state;
  return accepting(state).length >= settings.enginesMax || pool.size >= 2 * settings.enginesMax;
}

/** The engines of the pool that are starting, or get further runs. An engine and its successor count once. */
function accepting({ pool, engines }: LiveState): PoolEngine[] {
  return [...pool.values()].filter(({ id, successor }) => {
    const engine = engines.get(id);
    return engine === undefined || (!engine.exitRequested && (successor === undefined || !pool.has(successor)));
  });
}

/**
 * Makes an engine drain for runs that no engine of the full pool takes: those of a key without an engine, and those that need
 * an engine for themselves. Of the engines of a key that has several, the one with the fewest runs; else the oldest.
 */
function makePlace(turn: Turn, queue: KeyQueue): void {
  const { state, nowUs } = turn;
  if (!state.settings.spawnEngines || !state.poolKnown || !isFull(state) || !isSpawnable(state, queue.key.module)) return;
  if (state.pool.size >= 2 * state.settings.enginesMax) return;
  const candidates = accepting(state).filter(({ id }) => (state.engines.get(id)?.runs.size ?? 0) > 0);
  const own = candidates.filter(({ key }) => key.text === queue.key.text);
  const served = accepting(state).some(({ key }) => key.text === queue.key.text);
  const first = served ? state.queue.firstExclusive(queue) : state.queue.first(queue, false);
  if (first === undefined || !hasWaited(first, nowUs, WAITED_US)) return;
  const victim = served
    ? leastBusy(state, own)
    : (leastBusy(state, candidates.filter(hasSibling(candidates))) ?? oldest(candidates));
  const engine = victim === undefined ? undefined : state.engines.get(victim.id);
  if (engine !== undefined) drain(turn, engine);
}

function hasSibling(engines: readonly PoolEngine[]): (engine: PoolEngine) => boolean {
  return ({ id, key }) => engines.some((other) => other.id !== id && other.key.text === key.text);
}

function leastBusy({ engines }: LiveState, among: readonly PoolEngine[]): PoolEngine | undefined {
  const runs = ({ id }: PoolEngine) => engines.get(id)?.runs.size ?? 0;
  return among.toSorted((a, b) => runs(a) - runs(b))[0];
}

function oldest(among: readonly PoolEngine[]): PoolEngine | undefined {
  return among.toSorted((a, b) => a.startedUs - b.startedUs)[0];
}

/** Sends an idle engine of another key away; its place is free once its process is gone. False if none is idle. */
function makeRoom(turn: Turn, key: EngineKey): boolean {
  let longestIdle: Engine | undefined;
  for (const poll of turn.state.queue.polls()) {
    const { engine } = poll;
    if (!engine.spawned || engine.key.text === key.text || engine.runs.size > 0) continue;
    if (longestIdle === undefined || engine.lastWorkUs < longestIdle.lastWorkUs) longestIdle = engine;
  }
  if (longestIdle === undefined) return false;
  sendAway(turn, longestIdle);
  return true;
}

/**
 * Whether runs of a key wait for a place in the pool: the pool could start an engine for them, but engines that work or start
 * for other keys take all places.
 */
export function lacksSlot(state: LiveState, key: EngineKey): boolean {
  const { settings, pool, poolKnown, stopping, engines } = state;
  if (!settings.spawnEngines || !poolKnown || stopping || !isFull(state)) return false;
  if (!isSpawnable(state, key.module)) return false;
  for (const { id, key: served, polled } of pool.values()) {
    if ((engines.get(id)?.poll?.slots ?? 0) > 0 || (!polled && served.text === key.text)) return false;
  }
  return true;
}

/** Whether the pool has a command for a module. */
export function isSpawnable(state: LiveState, module: string): boolean {
  return FLOW_MODULE.test(module) || module === JOBS_MODULE || patternOf(state, module) !== undefined;
}

/** The first pattern of `[engines]` that matches a module. */
export function patternOf(state: LiveState, module: string): string | undefined {
  return state.settings.enginePatterns.find((pattern) => matchesPattern(pattern, module));
}
