/**
 * The engines and creators of one target, and the count of runs in flight between them. The engines stay connected between
 * phases, so that a server with its own pool has no reason to start engines.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createBody, type LoadFlow, transitionBody } from "./engine-protocol.ts";
import { type Endpoint, HttpConnection } from "./http-connection.ts";
import { SeededRandom } from "./random.ts";
import { Recorder } from "./recorder.ts";
import { type EngineHost, SimulatedEngine, type WorkItem } from "./simulated-engine.ts";

/** A request fails after the longest hold of a poll plus 10 s. */
const REQUEST_LIMIT_MS = 40_000;
const WATCH_MS = 1_000;
/** After this many refusals, the measurement of the server is meaningless. */
const ERRORS_MAX = 100;
const COMPLETED = transitionBody("Completed");

export interface FleetSize {
  engines: number;
  creators: number;
  inFlight: number;
  tasks: number;
  logs: number;
  shortRuns: boolean;
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

export class LoadFailed extends Error {}

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
  readonly #engines: SimulatedEngine[] = [];
  readonly #creators: HttpConnection[];
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
  #stopped = false;

  constructor(size: FleetSize, flow: LoadFlow, endpoint: Endpoint, standInPid: number, seed: number) {
    this.size = size;
    this.flow = flow;
    this.endpoint = endpoint;
    this.standInPid = standInPid;
    this.prefix = `load-${process.pid.toString(36)}${Date.now().toString(36)}`;
    for (let n = 0; n < size.engines; n++) {
      const random = new SeededRandom(seed * 65_537 + n);
      this.#engines.push(new SimulatedEngine(`${this.prefix}-engine-${n}`, standInPid, flow, endpoint, random, this));
    }
    this.#creators = Array.from({ length: size.creators }, () => new HttpConnection(endpoint));
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
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Connects the engines, which then poll. Rejects if a connection fails. */
  async start(): Promise<void> {
    for (const engine of this.#engines) await engine.connection.open();
    for (const engine of this.#engines) void engine.serve();
  }

  stop(): void {
    clearInterval(this.#watch);
    this.#stopped = true;
    this.stopCreating();
    this.#onChange?.();
    for (const engine of this.#engines) engine.stop();
    for (const creator of this.#creators) creator.close();
  }

  /** Creates runs with all creators until the plan is complete or `stopCreating` is called. */
  async create(plan: CreatePlan): Promise<void> {
    this.#creating = true;
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
    await this.#send(creator, createBody(this.flow, this.#nextName(), registers));
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
    this.#idleCreators.pop()?.();
    this.#onChange?.();
  }

  dismissed(engineId: string): void {
    this.#dismissed = engineId;
    this.#onChange?.();
  }

  async #createOn(connection: HttpConnection, plan: CreatePlan, last: number): Promise<void> {
    while (this.#creating && this.#created < last) {
      if (this.#inFlight >= plan.inFlight) {
        await new Promise<void>((wake) => this.#idleCreators.push(wake));
        continue;
      }
      this.#inFlight += 1;
      const described = plan.describe?.(this.#created + 1);
      const name = this.#nextName();
      const body = described
        ? createBody(described.flow, name, described.registers, described.tags)
        : createBody(this.flow, name, false);
      await this.#send(connection, body, name);
      if (this.recorder.failed > ERRORS_MAX) return;
    }
  }

  #nextName(): string {
    this.#created += 1;
    return `${this.prefix}-${this.#created}`;
  }

  async #send(connection: HttpConnection, body: string, name = `${this.prefix}-${this.#created}`): Promise<void> {
    // Take the time before writing the request: an engine may get the work before the creator gets its 201.
    const sentAt = performance.now();
    this.#createdAt.set(name, sentAt);
    try {
      const answer = await connection.post("/api/runs", body);
      if (answer.status === 201) {
        this.recorder.create.add(performance.now() - sentAt);
        return;
      }
      this.recorder.error(`create answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    } catch (error) {
      this.recorder.error(`create: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(WATCH_MS / 10);
    }
    this.#createdAt.delete(name);
    this.#inFlight -= 1;
  }

  #check(): void {
    if (this.#stopped) throw new LoadFailed("stopped");
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
