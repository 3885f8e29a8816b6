/**
 * The engine pool: decides when an engine process is started and when one must go. The processes themselves are on the main thread.
 *
 * For each key with runs that could start, engines are started until those that are starting cover the runs, up to the bound.
 * When the pool is full, one idle engine of another key makes room. A key whose engines die before their first poll is tried
 * again after a growing pause.
 */
import { matchesPattern } from "../engines/pattern.ts";
import type { Engine, EngineKey } from "../live-state/engine.ts";
import type { LiveState, PoolEngine } from "../live-state/live-state.ts";
import { ENGINE_PROCESSES } from "../names.ts";
import type { Turn } from "../turn.ts";
import { sendAway } from "./work.ts";

/** An engine that found no work for this long makes room for memory; starting one again takes a fraction of a second. */
const IDLE_EXIT_US = 300_000_000;
const RETRY_FIRST_US = 500_000;
const RETRY_MAX_US = 30_000_000;

/** Modules that our own engine executes. */
const OWN_MODULE = /\.(ts|mts|js|mjs)$/;

export class EnginePool {
  #started = 0;

  /** Engines that outlived a restart of the dispatcher keep their names; new ones are numbered above them. */
  adopt(engineId: string, serverPid: number): void {
    const [, pid, number] = engineId.split("-");
    if (Number(pid) === serverPid) this.#started = Math.max(this.#started, Number(number) || 0);
  }

  /** Starts what is missing for the keys whose demand was announced. */
  adjust(turn: Turn): void {
    const { state } = turn;
    if (!state.poolKnown) return;
    if (!state.settings.spawnEngines || state.stopping) return state.demand.clear();
    for (const keyText of state.demand) this.#adjustKey(turn, keyText);
    state.demand.clear();
  }

  /** Looks at every key again and lets engines go that have been idle for long. */
  tick(turn: Turn): void {
    const { state } = turn;
    for (const queue of state.queue.keys()) if (queue.readyCount > 0) state.demand.add(queue.key);
    for (const keyText of state.jobs.keys()) state.demand.add(keyText);
    for (const poll of [...state.queue.polls()]) {
      const idleUs = turn.nowUs - poll.engine.lastWorkUs;
      if (poll.engine.spawned && idleUs > IDLE_EXIT_US) sendAway(turn, poll.engine);
    }
    this.adjust(turn);
  }

  /** An engine process of the pool has gone; `polled` tells whether it ever asked for work. */
  gone(turn: Turn, { id, key, keyText, toldFailure }: PoolEngine, polled: boolean, cause: string | null): void {
    const { state, nowUs } = turn;
    if (polled) {
      state.failedStarts.delete(keyText);
      return;
    }
    const former = state.failedStarts.get(keyText);
    const count = (former?.count ?? 0) + 1;
    const retryUs = nowUs + Math.min(RETRY_MAX_US, RETRY_FIRST_US * 2 ** (count - 1));
    state.failedStarts.set(keyText, { count, retryUs, cause });
    // The tries that follow usually end alike.
    if (cause !== null && cause !== former?.cause && toldFailure !== true)
      turn.out.send(ENGINE_PROCESSES, { kind: "StartFailed", engine_id: id, module: key.module, cause });
    state.demand.add(keyText);
  }

  #adjustKey(turn: Turn, keyText: string): void {
    const { state } = turn;
    const key = parseKey(keyText);
    if (!isSpawnable(state, key.module)) return;
    // A pause beyond the longest is one from before the wall clock was set back.
    const pauseUs = (state.failedStarts.get(keyText)?.retryUs ?? 0) - turn.nowUs;
    if (pauseUs > 0 && pauseUs <= RETRY_MAX_US) return;
    const wanted = (state.queue.find(keyText)?.readyCount ?? 0) + (state.jobs.get(keyText)?.length ?? 0);
    let starting = 0;
    for (const engine of state.pool.values()) if (engine.keyText === keyText && !engine.polled) starting += 1;
    for (; starting < wanted; starting += 1) {
      if (state.pool.size >= state.settings.enginesMax && !makeRoom(turn, keyText)) return;
      if (state.pool.size >= state.settings.enginesMax) return;
      this.#spawn(turn, key, keyText);
    }
  }

  #spawn(turn: Turn, key: EngineKey, keyText: string): void {
    this.#started += 1;
    const id = `engine-${turn.state.settings.serverPid}-${this.#started}`;
    turn.state.pool.set(id, { id, key, keyText, startedUs: turn.nowUs, polled: false });
    turn.out.send(ENGINE_PROCESSES, { kind: "Spawn", engine_id: id, key });
  }
}

/** Sends an idle engine of another key away; its place is free once its process has gone. False when none is idle. */
function makeRoom(turn: Turn, keyText: string): boolean {
  let oldest: Engine | undefined;
  for (const poll of turn.state.queue.polls()) {
    const { engine } = poll;
    if (!engine.spawned || engine.keyText === keyText || engine.runs.size > 0) continue;
    if (oldest === undefined || engine.lastWorkUs < oldest.lastWorkUs) oldest = engine;
  }
  if (oldest === undefined) return false;
  sendAway(turn, oldest);
  return true;
}

/**
 * Whether runs of a key wait for a place of the pool: it may start engines for them, but every place is taken by an engine
 * that works or starts for another key.
 */
export function lacksSlot(state: LiveState, keyText: string): boolean {
  const { settings, pool, poolKnown, stopping, engines } = state;
  if (!settings.spawnEngines || !poolKnown || stopping || pool.size < settings.enginesMax) return false;
  if (!isSpawnable(state, parseKey(keyText).module)) return false;
  for (const { id, keyText: servedKey, polled } of pool.values()) {
    if (engines.get(id)?.poll != null || (!polled && servedKey === keyText)) return false;
  }
  return true;
}

/** Whether the pool has a command for a module. */
export function isSpawnable(state: LiveState, module: string): boolean {
  return OWN_MODULE.test(module) || patternOf(state, module) !== undefined;
}

/** The first pattern of `[engines]` that fits a module. */
export function patternOf(state: LiveState, module: string): string | undefined {
  return state.settings.enginePatterns.find((pattern) => matchesPattern(pattern, module));
}

function parseKey(keyText: string): EngineKey {
  const [source_dir = "", module = "", isolated = "0", nice = "0"] = keyText.split("\n");
  return { source_dir, module, isolated: isolated === "1", nice: Number(nice) };
}
