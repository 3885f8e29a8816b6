/**
 * Load for fault tests over real HTTP: clients that create runs, and engines that execute them.
 *
 * A client counts the outcome of each request. An engine retries unanswered requests, and takes 409 for a refusal only where
 * it is one. So a duplicated or stuck run shows in what the server reports at the end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { HttpConnection } from "../load/http-connection.ts";
import { parseEndpoint } from "../load/target.ts";
import { FaultSlotEngine } from "./fault-slot-engine.ts";

/** A request that waits longer than this counts as unanswered. */
const ANSWER_LIMIT_MS = 40_000;
/** Delay before a retry, as in 1.13 engines. */
const RETRY_MS = 20;

/** Delay of a client between two creates when no rate is set. */
const CREATE_PAUSE_MS = 2;

/** Runs that an engine with slots holds at a time, at most. */
const SLOTS = 64;

const MODULE = { module: "fault.py", source_dir: "/fault" };

/** The runs that clients create, their rate, and the resources that engines hold. */
export interface LoadShape {
  clients: number;
  /** Engines that poll for one run at a time. */
  engines: number;
  /** Engines that exchange the reports of up to SLOTS runs by one request. */
  slotEngines?: number;
  /**
   * Rate of all clients together; null creates as fast as answers arrive. Delays by slow answers are made up for, downtime of
   * the server is not.
   */
  createsPerSecond?: number | null;
  /** Amounts that each run takes at hand-out. */
  resources?: Record<string, number>;
  /** Amounts that an engine leases while it executes a run; for every other run, the lease is left to end with the run. */
  lease?: Record<string, number>;
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

export class FaultLoad {
  /** Ids of the runs that were answered 201. */
  readonly acknowledged: number[] = [];
  /** Creates and events with other answers, by status. */
  readonly refused = new Map<number, number>();
  /** Requests whose connection was cut. */
  cut = 0;
  /** Requests that got neither an answer nor a closed connection. */
  silent = 0;
  /** Runs whose end an engine reported successfully. */
  readonly completed: number[] = [];
  /** Number of answered requests, and the time of the newest answer (performance.now). */
  answered = 0;
  readonly #url: () => string | null;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #creating = true;
  #shape: LoadShape = { clients: 0, engines: 0 };
  /** Idle connections to the newest server: fetch would use more CPU than the server does. */
  #idle: { url: string; connections: HttpConnection[] } = { url: "", connections: [] };
  #firstAnswer: { sentAfter: number; resolve: (atMs: number) => void }[] = [];

  /** `url` is null while the server is down. */
  constructor(url: () => string | null) {
    this.#url = url;
  }

  start(shape: LoadShape): void {
    this.#shape = shape;
    for (let index = 0; index < shape.clients; index += 1) this.#loops.push(this.#client());
    this.#loops.push(this.#emitter());
    for (let index = 0; index < shape.engines; index += 1) this.#loops.push(this.#engine(`fault-${index}`));
    for (let index = 0; index < (shape.slotEngines ?? 0); index += 1) this.#loops.push(this.#slotEngine(`slots-${index}`));
  }

  /** Resolves with the time of the first answer to a request sent after this call. */
  nextAnswer(): Promise<number> {
    const sentAfter = performance.now();
    return new Promise((resolve) => this.#firstAnswer.push({ sentAfter, resolve }));
  }

  /** Stops creating runs; engines continue. */
  stopCreating(): void {
    this.#creating = false;
  }

  async stop(): Promise<void> {
    this.#creating = false;
    this.#stopping.abort();
    await Promise.all(this.#loops);
    this.#closeIdle();
  }

  /** Sends a request; null when its connection was cut or no server is running. */
  async ask(path: string, body: unknown): Promise<Answer | null> {
    const url = this.#url();
    if (url === null) {
      await sleep(RETRY_MS);
      return null;
    }
    const sentAt = performance.now();
    const connection = this.#connectionTo(url);
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      connection.cut();
    }, ANSWER_LIMIT_MS);
    try {
      const answer = await connection.post(path, JSON.stringify(body), true);
      this.#sawAnswer(sentAt);
      if (this.#idle.url === url) this.#idle.connections.push(connection);
      else connection.close();
      return {
        status: answer.status,
        body: (answer.body.startsWith("{") ? JSON.parse(answer.body) : {}) as Record<string, unknown>,
      };
    } catch {
      connection.close();
      if (late) this.silent += 1;
      else this.cut += 1;
      await sleep(RETRY_MS);
      return null;
    } finally {
      clearTimeout(limit);
    }
  }

  #connectionTo(url: string): HttpConnection {
    if (this.#idle.url !== url) {
      this.#closeIdle();
      this.#idle = { url, connections: [] };
    }
    return this.#idle.connections.pop() ?? new HttpConnection(parseEndpoint(url, null));
  }

  #closeIdle(): void {
    for (const connection of this.#idle.connections) connection.close();
  }

  #sawAnswer(sentAt: number): void {
    this.answered += 1;
    const nowMs = performance.now();
    for (const waiting of this.#firstAnswer.filter(({ sentAfter }) => sentAt >= sentAfter)) waiting.resolve(nowMs);
    this.#firstAnswer = this.#firstAnswer.filter(({ sentAfter }) => sentAt < sentAfter);
  }

  async #client(): Promise<void> {
    const { clients, createsPerSecond = null, resources } = this.#shape;
    const options = resources === undefined ? {} : { resources };
    let dueMs = performance.now();
    while (this.#creating) {
      const answer = await this.ask("/api/runs", { project: "fault", flow: "job", ...MODULE, options });
      if (answer?.status === 201) this.acknowledged.push(Number(answer.body["id"]));
      else if (answer !== null) this.refused.set(answer.status, (this.refused.get(answer.status) ?? 0) + 1);
      const nowMs = performance.now();
      if (createsPerSecond === null) dueMs = nowMs + CREATE_PAUSE_MS;
      else if (answer === null) dueMs = nowMs;
      else dueMs += (1000 * clients) / createsPerSecond;
      await sleep(Math.max(0, dueMs - nowMs));
    }
  }

  /** Sends requests to another actor than the one that creates runs, because each actor recovers at its own time. */
  async #emitter(): Promise<void> {
    const { clients, createsPerSecond = null } = this.#shape;
    const pauseMs = createsPerSecond === null ? CREATE_PAUSE_MS : (1000 * clients) / createsPerSecond;
    while (this.#creating) {
      const answer = await this.ask("/api/events", { name: "fault.seen" });
      if (answer !== null && answer.status !== 201) this.refused.set(answer.status, (this.refused.get(answer.status) ?? 0) + 1);
      await sleep(pauseMs);
    }
  }

  async #engine(engine_id: string): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const poll = { engine_id, pid: process.pid, ...MODULE, wait_ms: 200 };
      const answer = await this.ask("/api/engine/work", poll);
      const run = answer?.body["run"] as { run_id: number } | null | undefined;
      if (run != null) await this.#execute(engine_id, run.run_id);
    }
  }

  async #slotEngine(engine_id: string): Promise<void> {
    const engine = new FaultSlotEngine({
      identity: { engine_id, pid: process.pid, ...MODULE },
      slots: SLOTS,
      ask: (path, body) => this.ask(path, body),
      completed: (run) => this.completed.push(run),
    });
    await engine.serve(this.#stopping.signal);
  }

  async #execute(engine_id: string, run_id: number): Promise<void> {
    for (const type of ["Pending", "Running"]) {
      const moved = await this.#insist(`/api/runs/${run_id}/transition`, move(type));
      if (moved === null || (moved.status !== 200 && moved.body["reason"] !== "duplicate")) return;
    }
    const { lease } = this.#shape;
    if (lease !== undefined) await this.#hold(run_id, lease);
    const lines = [{ run_id, level: 20, logger: "fault", timestamp: Date.now() * 1000, message: "done" }];
    await this.#insist("/api/engine/report", { engine_id, run_id, events: [{ kind: "logs", seq: 1, logs: lines }] });
    const ended = await this.#insist(`/api/runs/${run_id}/transition`, move("Completed"));
    if (ended?.status === 200 || ended?.body["reason"] === "terminal") this.completed.push(run_id);
  }

  /** Waits for a lease; for every other run the lease ends with the run, as for an engine that died. */
  async #hold(run_id: number, resources: Record<string, number>): Promise<void> {
    const held = await this.#insist("/api/resources/acquire", { run_id, resources, wait_ms: 1000 });
    const lease = held?.body["lease"];
    if (lease !== undefined && run_id % 2 === 0) await this.#insist("/api/resources/release", { run_id, lease });
  }

  /** Retries a request until it is answered; null when the load ends first. */
  async #insist(path: string, body: unknown): Promise<Answer | null> {
    while (!this.#stopping.signal.aborted) {
      const answer = await this.ask(path, body);
      if (answer !== null && answer.status < 500) return answer;
    }
    return null;
  }
}

function move(type: string) {
  return { type, name: type, message: null, details: {}, force: false };
}
