/**
 * The processes of the machine: which engines live, and a model of the actor that starts, watches and signals them. Processes
 * survive the server; the actor knows only what it received since its start.
 */

import type { EngineKeyFields } from "#actors/core/state/engine";
import type { EngineProcessesMessage } from "#actors/engine-processes/engine-process-messages";
import { DISPATCHER, ENGINE_PROCESSES } from "#actors/names";
import type { ActorSpec } from "#runtime/actor";
import type { EngineProcess } from "./engine-process.ts";
import type { SimulatedTime } from "./simulated-time.ts";

/** What a server does with processes, for the checkers. */
export interface ProcessWatch {
  /** An engine is started; `living` others of the pool live. */
  started(id: string, living: number): void;
  signalled(engine: EngineProcess): void;
}

const LOOK_US = 500_000;
const FIRST_PID = 2000;

export class ModelProcesses {
  readonly #time: SimulatedTime;
  readonly #spawn: (id: string, key: EngineKeyFields, pid: number) => EngineProcess | null;
  readonly #watch: ProcessWatch;
  readonly #byPid = new Map<number, EngineProcess>();
  #nextPid = FIRST_PID;
  /** Id of the engine that the current server process has started last. */
  #newest: string | null = null;
  /** Children of the current server process, by engine id. */
  #children = new Map<string, { pid: number; key: EngineKeyFields }>();
  #tell: ((to: string, message: unknown) => void) | null = null;

  constructor(
    time: SimulatedTime,
    watch: ProcessWatch,
    spawn: (id: string, key: EngineKeyFields, pid: number) => EngineProcess | null,
  ) {
    this.#time = time;
    this.#watch = watch;
    this.#spawn = spawn;
  }

  get engines(): EngineProcess[] {
    return [...this.#byPid.values()].filter((engine) => engine.alive);
  }

  takePid(): number {
    this.#nextPid += 1;
    return this.#nextPid;
  }

  add(engine: EngineProcess): void {
    this.#byPid.set(engine.traits.pid, engine);
  }

  isAlive(pid: number): boolean {
    return this.#byPid.get(pid)?.alive === true;
  }

  /** An engine has ended: its parent is informed at once if it is the current server. */
  ended(engine: EngineProcess): void {
    const { id, pid } = engine.traits;
    this.#byPid.delete(pid);
    if (this.#children.get(id)?.pid !== pid) return;
    this.#children.delete(id);
    this.#tell?.(DISPATCHER, { kind: "EngineGone", engine_id: id, cause: null });
  }

  /** The actor of one server process; `tell` sends from its thread. */
  actor(tell: (to: string, message: unknown) => void): ActorSpec {
    this.#children = new Map();
    this.#newest = null;
    this.#tell = tell;
    const watched = new Map<string, number>();
    return {
      name: ENGINE_PROCESSES,
      start: (context, out) => {
        out.setTimer("look", context.nowUs() + LOOK_US, { kind: "Look" });
        return {
          receive: (raw, outbox) => {
            const message = raw as EngineProcessesMessage;
            switch (message.kind) {
              case "Watch":
                watched.set(message.engine_id, message.pid);
                return outbox.send(DISPATCHER, { kind: "EngineSeen", engine_id: message.engine_id, pid_started: 1 });
              case "Unwatch":
                return void watched.delete(message.engine_id);
              case "Spawn":
                return this.#start(message.engine_id, message.key);
              case "Signal":
                return this.#signal(message.pid, message.signal);
              case "Resync": {
                const engines = [...this.#children].map(([engine_id, { key }]) => ({ engine_id, key }));
                return outbox.send(DISPATCHER, { kind: "PoolReport", epoch: message.epoch, engines, newest: this.#newest });
              }
              case "Look":
                for (const [id, pid] of watched) {
                  if (this.#children.has(id) || this.isAlive(pid)) continue;
                  watched.delete(id);
                  outbox.send(DISPATCHER, { kind: "EngineGone", engine_id: id, pid, cause: null });
                }
                return outbox.setTimer("look", context.nowUs() + LOOK_US, { kind: "Look" });
              default:
            }
          },
        };
      },
    };
  }

  #signal(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
    const engine = this.#byPid.get(pid);
    if (engine === undefined) return;
    this.#watch.signalled(engine);
    engine.signal(signal);
  }

  #start(id: string, key: EngineKeyFields): void {
    this.#watch.started(id, this.#children.size);
    const pid = this.takePid();
    this.#newest = id;
    const engine = this.#spawn(id, key, pid);
    if (engine === null) {
      const tell = this.#tell;
      this.#time.after(LOOK_US, () => tell?.(DISPATCHER, { kind: "EngineGone", engine_id: id, cause: "could not start" }));
      return;
    }
    this.#children.set(id, { pid, key });
    this.add(engine);
    engine.begin();
  }
}
