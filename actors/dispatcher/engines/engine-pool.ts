/**
 * The engine pool: decides when to start an engine process and when an engine must leave. The processes are managed on the
 * main thread.
 *
 * For each key with ready runs, engines are started until the number of starting engines covers the runs, up to the bound.
 * When the pool is full, an idle engine of another key is sent away. After an engine that ended before its first poll, its
 * key is retried with a growing delay.
 */

import type { Engine, EngineKey } from "../../core/state/engine.ts";
import type { LiveState, PoolEngine } from "../../core/state/live-state.ts";
import type { Turn } from "../../core/turn.ts";
import { matchesPattern } from "../../engine-processes/command-pattern.ts";
import { ENGINE_PROCESSES } from "../../names.ts";
import { sendAway } from "../hand-out/work.ts";

/** An engine idle for this long is sent away to free its memory; starting it again takes a fraction of a second. */
const IDLE_EXIT_US = 300_000_000;
const RETRY_FIRST_US = 500_000;
const RETRY_MAX_US = 30_000_000;

/** Modules that the bundled engine executes. */
const OWN_MODULE = /\.(ts|mts|js|mjs)$/;

export class EnginePool {
  #started = 0;

  /** Engines that survived a restart of the dispatcher keep their names; new engines are numbered above them. */
  adopt(engineId: string, serverPid: number): void {
    const [, pid, number] = engineId.split("-");
    if (Number(pid) === serverPid) this.#started = Math.max(this.#started, Number(number) || 0);
  }

  /** Starts missing engines for the keys with announced demand. */
  adjust(turn: Turn): void {
    const { state } = turn;
    if (!state.poolKnown) return;
    if (!state.settings.spawnEngines || state.stopping) return state.demand.clear();
    for (const key of state.demand.values()) this.#adjustKey(turn, key);
    state.demand.clear();
  }

  /** Checks every key again and sends away engines that have been idle for long. */
  tick(turn: Turn): void {
    const { state } = turn;
    for (const queue of state.queue.keys()) if (queue.readyCount > 0) state.demand.set(queue.key.text, queue.key);
    for (const [job] of state.jobs.values()) if (job !== undefined) state.demand.set(job.key.text, job.key);
    for (const poll of [...state.queue.polls()]) {
      const idleUs = turn.nowUs - poll.engine.lastWorkUs;
      if (poll.engine.spawned && idleUs > IDLE_EXIT_US) sendAway(turn, poll.engine);
    }
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
    if (!isSpawnable(state, key.module)) return;
    // A delay beyond the maximum was computed before the wall clock was set back.
    const pauseUs = (state.failedStarts.get(key.text)?.retryUs ?? 0) - turn.nowUs;
    if (pauseUs > 0 && pauseUs <= RETRY_MAX_US) return;
    const wanted = (state.queue.find(key)?.readyCount ?? 0) + (state.jobs.get(key.text)?.length ?? 0);
    let starting = 0;
    for (const engine of state.pool.values()) if (engine.key.text === key.text && !engine.polled) starting += 1;
    for (; starting < wanted; starting += 1) {
      if (state.pool.size >= state.settings.enginesMax && !makeRoom(turn, key)) return;
      if (state.pool.size >= state.settings.enginesMax) return;
      this.#spawn(turn, key);
    }
  }

  #spawn(turn: Turn, key: EngineKey): void {
    this.#started += 1;
    const id = `engine-${turn.state.settings.serverPid}-${this.#started}`;
    turn.state.pool.set(id, { id, key, startedUs: turn.nowUs, polled: false });
    turn.out.send(ENGINE_PROCESSES, { kind: "Spawn", engine_id: id, key });
  }
}

/** Sends an idle engine of another key away; its place is free once its process is gone. False if none is idle. */
function makeRoom(turn: Turn, key: EngineKey): boolean {
  let oldest: Engine | undefined;
  for (const poll of turn.state.queue.polls()) {
    const { engine } = poll;
    if (!engine.spawned || engine.key.text === key.text || engine.runs.size > 0) continue;
    if (oldest === undefined || engine.lastWorkUs < oldest.lastWorkUs) oldest = engine;
  }
  if (oldest === undefined) return false;
  sendAway(turn, oldest);
  return true;
}

/**
 * Whether runs of a key wait for a place in the pool: the pool could start an engine for them, but engines that work or start
 * for other keys take all places.
 */
export function lacksSlot(state: LiveState, key: EngineKey): boolean {
  const { settings, pool, poolKnown, stopping, engines } = state;
  if (!settings.spawnEngines || !poolKnown || stopping || pool.size < settings.enginesMax) return false;
  if (!isSpawnable(state, key.module)) return false;
  for (const { id, key: served, polled } of pool.values()) {
    if (engines.get(id)?.poll != null || (!polled && served.text === key.text)) return false;
  }
  return true;
}

/** Whether the pool has a command for a module. */
export function isSpawnable(state: LiveState, module: string): boolean {
  return OWN_MODULE.test(module) || patternOf(state, module) !== undefined;
}

/** The first pattern of `[engines]` that matches a module. */
export function patternOf(state: LiveState, module: string): string | undefined {
  return state.settings.enginePatterns.find((pattern) => matchesPattern(pattern, module));
}
