/** The engine's requests to the server, with their timeouts and retries. */

import { WAIT_MS_MAX } from "#protocol/limits";
import type { HeartbeatResponse, ReportResponse, WorkItem, WorkResponse } from "#protocol/records/engine";
import type { ExchangeRequest, ExchangeResponse } from "#protocol/records/exchange";
import type { Channel, ChannelAnswer } from "./connection.ts";
import { sendUntilAnswered } from "./retrying.ts";
import type { ReportAnswer } from "./run-channel.ts";

/** Ten seconds more than the server ever holds a poll (interface: Limits, engine request timeout). */
const POLL_TIMEOUT_MS = 40_000;

/** The server answers within 25 s or cuts the connection. */
const REQUEST_TIMEOUT_MS = 30_000;

/** How long reports are retried (interface: Limits, engine idle give-up). */
const RETRY_MS = 600_000;

/** The identity of this engine, sent with each request. */
export interface EngineIdentity {
  engineId: string;
  sourceDir: string;
  module: string;
  isolated: boolean;
  nice: number;
  /** Host name and boot id. */
  host: string;
  /** The only run this engine wants; without it the engine takes any run of its module. */
  wanted?: number;
}

/** An exchange without the engine's identity; the events of its reports are texts beside it. */
export type ExchangeBody = Pick<
  ExchangeRequest,
  "exchange" | "slots" | "held" | "replace" | "hold" | "blocked_secs" | "spans"
> & {
  reports: readonly { run_id: number; lease: number; returned?: boolean }[];
};

/**
 * The engine's requests, each on the connection for its purpose, so that a held exchange delays no report, and a large report no
 * heartbeat.
 */
export class ServerApi {
  readonly #identity: EngineIdentity;
  readonly #poll: Channel;
  readonly #run: Channel;
  readonly #side: Channel;
  readonly #retryMs: number;

  /**
   * @param connect opens a channel on which an answer may take the given number of ms
   * @param retryMs how long reports are repeated without an answer, in ms
   */
  constructor(identity: EngineIdentity, connect: (timeoutMs: number) => Channel, retryMs = RETRY_MS) {
    this.#identity = identity;
    this.#poll = connect(POLL_TIMEOUT_MS);
    this.#run = connect(REQUEST_TIMEOUT_MS);
    this.#side = connect(REQUEST_TIMEOUT_MS);
    this.#retryMs = retryMs;
  }

  /** What a request for work says about this engine. */
  get #named() {
    const { engineId, sourceDir, module, isolated, nice, host, wanted } = this.#identity;
    return {
      engine_id: engineId,
      pid: process.pid,
      source_dir: sourceDir,
      module,
      isolated,
      nice,
      host,
      run_id: wanted,
    };
  }

  /**
   * POST /api/engine/work: waits for work.
   * @throws connection errors, the signal's reason, and an Error for an answer other than 200
   */
  async work(signal: AbortSignal): Promise<WorkResponse> {
    const json = JSON.stringify({ ...this.#named, wait_ms: WAIT_MS_MAX, owns_stop: true });
    const answer = await this.#poll.send("POST", "/api/engine/work", json, signal);
    if (answer.status !== 200) throw new UnexpectedAnswer(answer);
    return answer.body as WorkResponse;
  }

  /**
   * POST /api/engine/exchange, once.
   * @param holds true if the server may hold the request; it then has a connection of its own
   * @throws connection errors, the signal's reason, and an UnexpectedAnswer for an answer other than 200
   */
  async exchange(body: ExchangeBody, events: readonly string[], holds: boolean, signal: AbortSignal): Promise<ExchangeResponse> {
    const { reports, ...rest } = body;
    const parts = reports.map((report, at) => `${JSON.stringify(report).slice(0, -1)},"events":[${events[at] ?? ""}]}`);
    const json = `${JSON.stringify({ ...this.#named, ...rest }).slice(0, -1)},"reports":[${parts.join()}]}`;
    const channel = holds ? this.#poll : this.#run;
    const answer = await channel.send("POST", "/api/engine/exchange", json, signal);
    if (answer.status !== 200) throw new UnexpectedAnswer(answer);
    return answer.body as ExchangeResponse;
  }

  /**
   * POST /api/engine/report.
   * @param events the items as JSON texts
   * @throws the connection error after ten minutes of retries, an Error for an unexpected answer (a wrong token)
   */
  async report(item: WorkItem, events: string[]): Promise<ReportAnswer> {
    const lease = item.lease ?? null;
    const head = JSON.stringify({
      engine_id: this.#identity.engineId,
      run_id: item.run_id,
      ...(lease === null ? {} : { lease }),
    });
    const json = `${head.slice(0, -1)},"events":[${events.join(",")}]}`;
    const answer = await sendUntilAnswered(() => this.#run.send("POST", "/api/engine/report", json), this.#retryMs);
    if (answer.status === 404 || answer.status === 409) return { kind: "gone", reason: errorOf(answer) };
    if (answer.status === 413) return { kind: "too-large" };
    if (answer.status === 400 || answer.status === 422) return { kind: "refused", error: errorOf(answer) };
    if (answer.status !== 200) throw new UnexpectedAnswer(answer);
    const { last_seq, applied_at, settled_wait, cancel, run_state, fenced = false } = answer.body as ReportResponse;
    const stored = { appliedAt: applied_at, settledWait: settled_wait };
    return { kind: "applied", lastSeq: last_seq, ...stored, cancel, runState: run_state, fenced };
  }

  /** POST /api/engine/heartbeat, once; null without an answer. */
  async heartbeat(item: WorkItem): Promise<HeartbeatResponse | null> {
    const lease = item.lease ?? null;
    const json = JSON.stringify({
      engine_id: this.#identity.engineId,
      run_id: item.run_id,
      ...(lease === null ? {} : { lease }),
    });
    try {
      const answer = await this.#side.send("POST", "/api/engine/heartbeat", json);
      return answer.status === 200 ? (answer.body as HeartbeatResponse) : null;
    } catch {
      return null;
    }
  }

  /** Whether a server answers at the address. */
  async reachesServer(): Promise<boolean> {
    try {
      await this.#side.send("GET", "/api/health", null);
      return true;
    } catch {
      return false;
    }
  }

  /** POST /api/engine/failed: the module cannot be imported. */
  async failed(traceback: string): Promise<void> {
    const { engineId, sourceDir, module, isolated, nice } = this.#identity;
    const json = JSON.stringify({ engine_id: engineId, source_dir: sourceDir, module, traceback, isolated, nice });
    await sendUntilAnswered(() => this.#side.send("POST", "/api/engine/failed", json), IMPORT_FAILURE_RETRY_MS);
  }

  async get(path: string): Promise<unknown> {
    const answer = await sendUntilAnswered(() => this.#side.send("GET", path, null), this.#retryMs);
    if (answer.status !== 200) throw new UnexpectedAnswer(answer);
    return answer.body;
  }

  async post(path: string, body: object): Promise<void> {
    const answer = await sendUntilAnswered(() => this.#side.send("POST", path, JSON.stringify(body)), this.#retryMs);
    if (answer.status >= 300) throw new UnexpectedAnswer(answer);
  }

  close(): void {
    for (const connection of [this.#poll, this.#run, this.#side]) connection.close();
  }
}

/** An engine that cannot import its module has no other work, but need not outlive a server that is gone. */
const IMPORT_FAILURE_RETRY_MS = 30_000;

/** The server sent an unexpected answer. */
export class UnexpectedAnswer extends Error {
  readonly status: number;

  constructor(answer: ChannelAnswer) {
    super(errorOf(answer));
    this.status = answer.status;
  }
}

function errorOf(answer: ChannelAnswer): string {
  const error = recordOf(answer.body)["error"] ?? answer.body;
  return `${answer.status} ${typeof error === "string" ? error : ""}`.trim();
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
