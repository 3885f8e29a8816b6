/**
 * The engines and creators of one target, and the count of runs in flight between them. The engines stay connected between
 * phases, so that a server with its own pool has no reason to start engines.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineHost, WorkItem } from "./engine-host.ts";
import { createBatchBody, createBody, type LoadFlow, transitionBody } from "./engine-protocol.ts";
import { type Endpoint, HttpConnection } from "./http-connection.ts";
import { LoadFailed } from "./load-failed.ts";
import { SeededRandom } from "./random.ts";
import { Recorder } from "./recorder.ts";
import { SimulatedEngine } from "./simulated-engine.ts";
import { SlotEngine } from "./slots/slot-engine.ts";

/** A request fails after the longest hold of a poll plus 10 s. */
const REQUEST_LIMIT_MS = 40_000;
const WATCH_MS = 1_000;
/** After this many refusals, the measurement of the server is meaningless. */
const ERRORS_MAX = 100;
/** The answer to a batch is long. */
const CREATOR_READ_BYTES = 65_536;
const COMPLETED = transitionBody("Completed");

export interface FleetSize {
  engines: number;
  creators: number;
  inFlight: number;
  tasks: number;
  logs: number;
  shortRuns: boolean;
  /** Runs that each engine holds at a time; null: engines that take one run after the other. */
  slots: number | null;
  /** Runs that a creator creates with one request. */
  batch: number;
}

/** How a phase creates runs. */
export interface CreatePlan {
  /** Creators stop after this many runs. */
  runsMax: number;
  /** Runs created and not yet finished. */
  inFlight: number;
  /** Flow and tags of the run with this number. */
  describe?: (number: number) => { flow: LoadFlow; registers: boolean; tags: readonly string[] };
}

export class Fleet implements EngineHost {
  recorder = new Recorder();
  duty: EngineHost["duty"] = null;
  outcomeOf: ((number: number) => string) | null = null;
  readonly size: FleetSize;
  readonly flow: LoadFlow;
  readonly endpoint: Endpoint;
  readonly standInPid: number;
  /** Prefix of the names of all runs of this fleet. */
  readonly prefix: string;
  readonly #engines: (SimulatedEngine | SlotEngine)[] = [];
  readonly #creators: HttpConnection[];
  /** Runs of one request. */
  readonly #batch: number;
  #inFlightMax = 0;
  /** Creators that wait for a place in flight. Each finished run wakes one of them. */
  #idleCreators: (() => void)[] = [];
  /** Called after each start, hold and end of a run. */
  #onChange: (() => void) | null = null;
  readonly #createdAt = new Map<string, number>();
  readonly #watch: NodeJS.Timeout;
  #created = 0;
  #inFlight = 0;
  #dismissed: string | null = null;
  #creating = false;
  readonly #stopping = new AbortController();

  constructor(size: FleetSize, flow: LoadFlow, endpoint: Endpoint, standInPid: number, seed: number) {
    this.size = size;
    this.flow = flow;
    this.endpoint = endpoint;
    this.standInPid = standInPid;
    this.#batch = size.batch;
    this.prefix = `load-${process.pid.toString(36)}${Date.now().toString(36)}`;
    for (let n = 0; n < size.engines; n++) {
      const random = new SeededRandom(seed * 65_537 + n);
      const id = `${this.prefix}-engine-${n}`;
      const { slots } = size;
      const engine =
        slots === null
          ? new SimulatedEngine(id, standInPid, flow, endpoint, random, this)
          : new SlotEngine(id, standInPid, flow, slots, endpoint, random, this);
      this.#engines.push(engine);
    }
    this.#creators = Array.from({ length: size.creators }, () => new HttpConnection(endpoint, CREATOR_READ_BYTES));
    this.#watch = setInterval(() => this.#endOverdue(), WATCH_MS).unref();
  }

  get tasks(): number {
    return this.size.tasks;
  }
  get logs(): number {
    return this.size.logs;
  }
  get shortRuns(): boolean {
    return this.size.shortRuns;
  }
  /** Aborted by stop(). */
  get stopped(): AbortSignal {
    return this.#stopping.signal;
  }
  get inFlight(): number {
    return this.#inFlight;
  }
  /** Requests of all engines so far. */
  get engineRequests(): number {
    return this.#engines.reduce((sum, { connection }) => sum + connection.sent, 0);
  }

  /** Connects the engines, which then poll. Rejects if a connection fails. */
  async start(): Promise<void> {
    for (const engine of this.#engines) await engine.connection.open();
    for (const engine of this.#engines) void engine.serve();
  }

  stop(): void {
    clearInterval(this.#watch);
    this.#stopping.abort();
    this.stopCreating();
    this.#onChange?.();
    for (const engine of this.#engines) engine.stop();
    for (const creator of this.#creators) creator.close();
  }

  /** Creates runs with all creators until the plan is complete or `stopCreating` is called. */
  async create(plan: CreatePlan): Promise<void> {
    this.#creating = true;
    this.#inFlightMax = plan.inFlight;
    const last = this.#created + plan.runsMax;
    await Promise.all(this.#creators.map((connection) => this.#createOn(connection, plan, last)));
  }

  stopCreating(): void {
    this.#creating = false;
    for (const wake of this.#idleCreators.splice(0)) wake();
  }

  /** Waits until `done` holds; checked whenever a run ends. False after `limitMs`. */
  until(done: () => boolean, limitMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const end = (result: boolean) => {
        clearTimeout(limit);
        this.#onChange = null;
        resolve(result);
      };
      const limit = setTimeout(() => end(done()), limitMs);
      this.#onChange = () => {
        try {
          this.#check();
          if (done()) end(true);
        } catch (error) {
          clearTimeout(limit);
          this.#onChange = null;
          reject(error);
        }
      };
      this.#onChange();
    });
  }

  /** Creates one run with the first creator, the first time with the flow's registration. */
  async createOne(registers = false): Promise<void> {
    const creator = this.#creators[0];
    if (creator === undefined) throw new LoadFailed("no creator");
    this.#inFlight += 1;
    const name = this.#nextName();
    await this.#send(creator, "/api/runs", createBody(this.flow, name, registers), [name]);
  }

  received(item: WorkItem, atMs: number): number | undefined {
    const sentAt = this.#createdAt.get(item.run_name);
    if (sentAt === undefined) return undefined;
    this.#createdAt.delete(item.run_name);
    this.recorder.dispatch.add(atMs - sentAt);
    return sentAt;
  }

  outcome(item: WorkItem): string {
    if (this.outcomeOf === null) return COMPLETED;
    return this.outcomeOf(Number(item.run_name.slice(item.run_name.lastIndexOf("-") + 1)));
  }

  finished(_item: WorkItem): void {
    this.#inFlight -= 1;
    if (this.#inFlight + this.#batch <= this.#inFlightMax) this.#idleCreators.pop()?.();
    this.#onChange?.();
  }

  dismissed(engineId: string): void {
    this.#dismissed = engineId;
    this.#onChange?.();
  }

  async #createOn(connection: HttpConnection, plan: CreatePlan, last: number): Promise<void> {
    while (this.#creating && this.#created < last) {
      const count = Math.min(this.#batch, last - this.#created, plan.inFlight);
      if (this.#inFlight + count > plan.inFlight) {
        await new Promise<void>((wake) => this.#idleCreators.push(wake));
        continue;
      }
      this.#inFlight += count;
      await this.#createSome(connection, plan, count);
      if (this.recorder.failed > ERRORS_MAX) return;
    }
  }

  async #createSome(connection: HttpConnection, plan: CreatePlan, count: number): Promise<void> {
    if (this.#batch > 1) {
      const names = Array.from({ length: count }, () => this.#nextName());
      return await this.#send(connection, "/api/runs/batch", createBatchBody(this.flow, names), names);
    }
    const described = plan.describe?.(this.#created + 1);
    const name = this.#nextName();
    const body = described
      ? createBody(described.flow, name, described.registers, described.tags)
      : createBody(this.flow, name, false);
    await this.#send(connection, "/api/runs", body, [name]);
  }

  #nextName(): string {
    this.#created += 1;
    return `${this.prefix}-${this.#created}`;
  }

  async #send(connection: HttpConnection, path: string, body: string, names: readonly string[]): Promise<void> {
    // Take the time before writing the request: an engine may get the work before the creator gets its 201.
    const sentAt = performance.now();
    for (const name of names) this.#createdAt.set(name, sentAt);
    try {
      const answer = await connection.post(path, body);
      if (answer.status === 201) {
        this.recorder.create.add(performance.now() - sentAt);
        this.recorder.created += names.length;
        return;
      }
      this.recorder.error(`create answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    } catch (error) {
      this.recorder.error(`create: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(WATCH_MS / 10);
    }
    for (const name of names) this.#createdAt.delete(name);
    this.#inFlight -= names.length;
  }

  #check(): void {
    if (this.stopped.aborted) throw new LoadFailed("stopped");
    if (this.#dismissed !== null) {
      throw new LoadFailed(
        `the server told ${this.#dismissed} to exit: raise its limit of engines to more than ${this.size.engines}`,
      );
    }
    if (this.recorder.failed > ERRORS_MAX) throw new LoadFailed(`too many failures: ${this.recorder.errors.join("; ")}`);
  }

  #endOverdue(): void {
    const oldest = performance.now() - REQUEST_LIMIT_MS;
    for (const { connection } of this.#engines) if (connection.sentAt > 0 && connection.sentAt < oldest) connection.cut();
    for (const connection of this.#creators) if (connection.sentAt > 0 && connection.sentAt < oldest) connection.cut();
  }
}
