/**
 * The host of one thread: runs the actors placed on the thread.
 *
 * A turn takes waiting messages actor by actor, performs the effects of each step after the step has returned, and then
 * flushes the links, so that everything sent in one turn crosses to another thread as one message.
 */
import type { Actor, ActorFigures, ActorSpec } from "./actor.ts";
import { assert } from "./assert.ts";
import type { Clock } from "./clock.ts";
import { type Effect, Outbox } from "./effect.ts";
import { type Lane, Mailbox } from "./mailbox.ts";
import { type Alarm, Timers, wallOffsetUs } from "./timers.ts";

/** Messages that one actor handles before the next actor gets its share of the turn. */
const SHARE_MAX = 256;
/** Messages of one turn before the links are flushed and the thread serves its I/O. */
const TURN_MAX = 2048;

/** A turn also ends after this time, with messages left; a step is never interrupted. */
const TURN_US = 20_000;

/** A thread that is held this long delays its clients noticeably. */
export const STALL_US = 250_000;

/** Work that held a thread for longer than STALL_US. */
export interface Stall {
  actor: string;
  /** Kind of the message, or the work done outside of steps. */
  what: string;
  tookUs: number;
}

/** Where messages for a name go: a link to another thread, or a component that is no actor. */
export interface Endpoint {
  deliver(message: unknown, lane: Lane): void;
  /** Called at the end of each turn in which something was delivered. */
  flush?(): void;
}

export interface HostOptions {
  clock: Clock;
  alarm: Alarm;
  /** Runs a turn soon, once. A simulation passes a function that does nothing and calls `step` itself. */
  defer(turn: () => void): void;
  /** An actor threw in a step or could not start. */
  exited(name: string, error: Error): void;
  /** Work of an actor held the thread for too long. */
  stalled?(stall: Stall): void;
}

interface Cell {
  spec: ActorSpec;
  mailbox: Mailbox;
  actor: Actor | null;
  state: ActorFigures["state"];
  /** Resolves when the stop in progress is done. */
  stopped: Promise<void> | null;
  generation: number;
  handled: number;
  dropped: number;
  stepUs: number;
  stepMaxUs: number;
  stalls: number;
  lastStall: string | null;
  lastError: string | null;
  queued: boolean;
}

export class Host {
  readonly #options: HostOptions;
  readonly #cells = new Map<string, Cell>();
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #dirty = new Set<Endpoint>();
  readonly #ready: Cell[] = [];
  readonly #timers: Timers;
  readonly #out = new Outbox();
  #inTurn = false;
  /** Time spent in steps of this turn. */
  #turnUs = 0;
  /** Wall clock minus monotonic clock when the steps read the time for the timers that they set. */
  #offsetUs = 0;
  #deferred = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock, options.alarm, (owner, message) => this.send(owner, message));
  }

  /** Adds an actor to this host; the actor runs after `start`. */
  register(spec: ActorSpec): void {
    assert(!this.#cells.has(spec.name), `actor ${spec.name} is registered twice`);
    this.#cells.set(spec.name, {
      spec,
      mailbox: new Mailbox(spec.mailboxMax),
      actor: null,
      state: "stopped",
      stopped: null,
      generation: 0,
      handled: 0,
      dropped: 0,
      stepUs: 0,
      stepMaxUs: 0,
      stalls: 0,
      lastStall: null,
      lastError: null,
      queued: false,
    });
  }

  /** Routes a name to an endpoint that is no actor of this thread. */
  attach(name: string, endpoint: Endpoint): void {
    this.#endpoints.set(name, endpoint);
  }

  async start(name: string): Promise<void> {
    const cell = this.#cell(name);
    if (cell.state === "running") return;
    this.#end(cell);
    cell.state = "starting";
    cell.generation += 1;
    if (cell.generation > 1 && cell.spec.resent) cell.mailbox.remove(cell.spec.resent);
    const out = new Outbox();
    const offsetUs = wallOffsetUs(this.#options.clock);
    try {
      cell.actor = await cell.spec.start({ nowUs: () => this.#options.clock.nowUs(), generation: cell.generation }, out);
    } catch (cause) {
      cell.state = "crashed";
      cell.lastError = messageOf(cause);
      throw cause;
    }
    cell.state = "running";
    this.#offsetUs = offsetUs;
    this.#perform(name, out.effects);
    this.#makeReady(cell);
    // Handle messages that arrived during the start without waiting for another message.
    if (cell.queued) this.#deferTurn();
    this.#flush();
  }

  /**
   * Ends an actor after its current step. The actor receives messages until its own `stop` has resolved, because that stop
   * may wait for answers; messages still waiting then are kept for the next start.
   */
  stop(name: string): Promise<void> {
    const cell = this.#cell(name);
    cell.stopped ??= this.#stop(cell);
    return cell.stopped;
  }

  /** Makes the next step of an actor throw: for tests of supervision. */
  kill(name: string, reason: string): void {
    this.send(name, new Error(reason), "kill");
  }

  send(to: string, message: unknown, lane: Lane = "ordinary"): void {
    const cell = this.#cells.get(to);
    if (cell !== undefined) {
      if (!cell.mailbox.put(message, lane)) cell.dropped += 1;
      this.#makeReady(cell);
    } else {
      const endpoint = this.#endpoints.get(to);
      assert(endpoint !== undefined, `no actor is called ${to}`);
      this.#dirty.add(endpoint);
      endpoint.deliver(message, lane);
    }
    this.#deferTurn();
  }

  /** Records work of an actor that held the thread for too long: a step, or work outside of steps. */
  held(name: string, what: string, tookUs: number): void {
    if (tookUs <= STALL_US) return;
    const cell = this.#cell(name);
    cell.stalls += 1;
    cell.lastStall = `${what}: ${Math.round(tookUs / 1000)} ms`;
    this.#options.stalled?.({ actor: name, what, tookUs });
  }

  /** Runs waiting messages now; a link calls this when a batch has arrived. */
  turn(): void {
    if (this.#inTurn) return;
    this.#inTurn = true;
    this.#turnUs = 0;
    this.#offsetUs = wallOffsetUs(this.#options.clock);
    let left = TURN_MAX;
    while (left > 0 && this.#turnUs < TURN_US) {
      const cell = this.#ready.shift();
      if (cell === undefined) break;
      cell.queued = false;
      left -= this.#serve(cell, Math.min(left, SHARE_MAX));
      this.#makeReady(cell);
    }
    this.#inTurn = false;
    this.#flush();
    if (this.#ready.length > 0) this.#deferTurn();
  }

  /** Names of actors with a message to handle, for a simulation that chooses the order. */
  runnable(): string[] {
    return [...this.#cells.values()].filter((cell) => isServed(cell) && cell.mailbox.depth > 0).map((cell) => cell.spec.name);
  }

  /** Handles one message of one actor, for a simulation. */
  step(name: string): void {
    this.#inTurn = true;
    this.#turnUs = 0;
    this.#offsetUs = wallOffsetUs(this.#options.clock);
    this.#serve(this.#cell(name), 1);
    this.#inTurn = false;
  }

  flushEndpoints(): void {
    this.#flush();
  }

  fireTimers(): void {
    this.#timers.fireDue();
  }

  nextTimerUs(): number | null {
    return this.#timers.nextDueUs();
  }

  figures(): ActorFigures[] {
    return [...this.#cells.values()].map((cell) => ({
      name: cell.spec.name,
      state: cell.state,
      mailbox_depth: cell.mailbox.depth,
      handled: cell.handled,
      restarts: Math.max(0, cell.generation - 1),
      dropped: cell.dropped,
      step_us: Math.round(cell.stepUs),
      step_max_us: Math.round(cell.stepMaxUs),
      stalls: cell.stalls,
      last_stall: cell.lastStall,
      last_error: cell.lastError,
    }));
  }

  close(): void {
    this.#timers.stop();
  }

  async #stop(cell: Cell): Promise<void> {
    const { actor, generation } = cell;
    const failed = cell.state === "crashed";
    if (!failed) cell.state = "stopping";
    try {
      await actor?.stop?.(failed);
    } finally {
      // The supervisor's wait is limited, so the next life may have begun during this stop.
      if (cell.generation === generation) this.#end(cell);
    }
  }

  /** Ends a life of the actor and cancels its timers. */
  #end(cell: Cell): void {
    cell.actor = null;
    cell.stopped = null;
    if (cell.state === "stopping") cell.state = "stopped";
    this.#timers.cancelAll(cell.spec.name);
  }

  #serve(cell: Cell, share: number): number {
    let served = 0;
    while (served < share && this.#turnUs < TURN_US && isServed(cell) && cell.actor !== null) {
      const next = cell.mailbox.take();
      if (next === undefined) break;
      served += 1;
      this.#step(cell, cell.actor, next.message, next.lane);
    }
    return served;
  }

  #step(cell: Cell, actor: Actor, message: unknown, lane: Lane): void {
    const startUs = this.#options.clock.monotonicUs();
    const out = this.#out;
    out.effects.length = 0;
    try {
      if (lane === "kill") throw message;
      actor.receive(message, out);
    } catch (cause) {
      out.effects.length = 0;
      this.#crash(cell, message, lane, cause);
      return;
    }
    cell.handled += 1;
    const tookUs = this.#options.clock.monotonicUs() - startUs;
    cell.stepUs += tookUs;
    this.#turnUs += tookUs;
    if (tookUs > cell.stepMaxUs) cell.stepMaxUs = tookUs;
    if (tookUs > STALL_US) this.held(cell.spec.name, kindOf(message), tookUs);
    try {
      this.#perform(cell.spec.name, out.effects);
    } catch (cause) {
      // A message to a name that does not exist is a defect of this actor alone.
      this.#crash(cell, message, lane, cause);
    }
  }

  #crash(cell: Cell, message: unknown, lane: Lane, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    // Keep the actor until `stop`, so that its handles, sockets and processes are released before the next start.
    cell.state = "crashed";
    cell.lastError = error.message;
    this.#timers.cancelAll(cell.spec.name);
    if (lane !== "kill" && cell.spec.failed) {
      const out = new Outbox();
      cell.spec.failed(message, error, out);
      this.#perform(cell.spec.name, out.effects);
    }
    this.#options.exited(cell.spec.name, error);
  }

  #perform(owner: string, effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.kind === "Send") this.send(effect.to, effect.message, effect.lane);
      else if (effect.kind === "SetTimer") this.#timers.set(owner, effect.key, effect.dueUs, effect.message, this.#offsetUs);
      else this.#timers.cancel(owner, effect.key);
    }
  }

  #makeReady(cell: Cell): void {
    if (cell.queued || !isServed(cell) || cell.mailbox.depth === 0) return;
    cell.queued = true;
    this.#ready.push(cell);
  }

  #flush(): void {
    // A flush may send to another endpoint, or to one already flushed: the loop reaches both.
    for (const endpoint of this.#dirty) {
      this.#dirty.delete(endpoint);
      endpoint.flush?.();
    }
  }

  #deferTurn(): void {
    if (this.#inTurn || this.#deferred) return;
    this.#deferred = true;
    this.#options.defer(() => {
      this.#deferred = false;
      this.turn();
    });
  }

  #cell(name: string): Cell {
    const cell = this.#cells.get(name);
    assert(cell !== undefined, `actor ${name} is not registered here`);
    return cell;
  }
}

function isServed({ state }: Cell): boolean {
  return state === "running" || state === "stopping";
}

function kindOf(message: unknown): string {
  const kind = typeof message === "object" && message !== null && "kind" in message ? message.kind : typeof message;
  return String(kind);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
