/** The engine's requests to the server, with their timeouts and retries. */

import { WAIT_MS_MAX } from "#protocol/limits";
import type { HeartbeatResponse, ReportResponse, WorkItem, WorkResponse } from "#protocol/records/engine";
import type { State } from "#protocol/records/state";
import type { Channel, ChannelAnswer } from "./connection.ts";
import { sendUntilAnswered } from "./retrying.ts";

/** Ten seconds more than the server ever holds a poll (interface: Limits, engine request timeout). */
const POLL_TIMEOUT_MS = 40_000;

/** The server answers a transition within 25 s or cuts the connection. */
const REQUEST_TIMEOUT_MS = 30_000;

/** How long reports and transitions are retried (interface: Limits, engine idle give-up). */
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

export type TransitionAnswer =
  | { kind: "accepted" }
  /** `current` is the type of the run's present state. */
  | { kind: "refused"; current: string; error: string }
  /** The run no longer exists. */
  | { kind: "gone" };

export type ReportAnswer =
  /** `runState`: the run's state after a report that moved it. */
  | { kind: "applied"; lastSeq: number; cancel: boolean; runState?: ReportResponse["run_state"] }
  | { kind: "gone" }
  | { kind: "too-large" }
  | { kind: "refused"; error: string };

/**
 * The engine's requests, each on the connection for its purpose, so that a long poll or a large report does not delay a
 * heartbeat.
 */
export class ServerApi {
  readonly #identity: EngineIdentity;
  readonly #poll: Channel;
  readonly #run: Channel;
  readonly #side: Channel;
  readonly #retryMs: number;

  /** @param connect opens a channel on which an answer may take the given number of ms */
  constructor(identity: EngineIdentity, connect: (timeoutMs: number) => Channel, retryMs = RETRY_MS) {
    this.#identity = identity;
    this.#poll = connect(POLL_TIMEOUT_MS);
    this.#run = connect(REQUEST_TIMEOUT_MS);
    this.#side = connect(REQUEST_TIMEOUT_MS);
    this.#retryMs = retryMs;
  }

  /**
   * POST /api/engine/work: waits for work.
   * @throws connection errors, the signal's reason, and an Error for an answer other than 200
   */
  async work(signal: AbortSignal): Promise<WorkResponse> {
    const { engineId, sourceDir, module, isolated, nice, host, wanted } = this.#identity;
    const json = JSON.stringify({
      engine_id: engineId,
      pid: process.pid,
      source_dir: sourceDir,
      module,
      isolated,
      nice,
      wait_ms: WAIT_MS_MAX,
      host,
      owns_stop: true,
      run_id: wanted,
    });
    const answer = await this.#poll.send("POST", "/api/engine/work", json, signal);
    if (answer.status !== 200) throw new UnexpectedAnswer(answer);
    return answer.body as WorkResponse;
  }

  /**
   * POST /api/runs/{id}/transition.
   * @throws the connection error after ten minutes of retries
   */
  async transition(item: WorkItem, state: State): Promise<TransitionAnswer> {
    const { type, name, message, details, timestamp } = state;
    const lease = item.lease ?? null;
    const json = JSON.stringify({ type, name, message, details, force: false, ...(lease === null ? {} : { lease, timestamp }) });
    const path = `/api/runs/${item.run_id}/transition`;
    const answer = await sendUntilAnswered(() => this.#run.send("POST", path, json), this.#retryMs);
    if (answer.status < 300) return { kind: "accepted" };
    if (answer.status === 404) return { kind: "gone" };
    const refusal = recordOf(answer.body);
    const current = recordOf(refusal["current"]);
    // The answer to the first try was lost, not the transition.
    if (answer.repeated && current["type"] === type && current["name"] === name) return { kind: "accepted" };
    return { kind: "refused", current: String(current["type"] ?? ""), error: errorOf(answer) };
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
    if (answer.status === 404 || answer.status === 409) return { kind: "gone" };
    if (answer.status === 413) return { kind: "too-large" };
    if (answer.status === 400 || answer.status === 422) return { kind: "refused", error: errorOf(answer) };
    if (answer.status !== 200) throw new UnexpectedAnswer(answer);
    const { last_seq, cancel, run_state } = answer.body as ReportResponse;
    return { kind: "applied", lastSeq: last_seq, cancel, runState: run_state };
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
  constructor(answer: ChannelAnswer) {
    super(errorOf(answer));
  }
}

function errorOf(answer: ChannelAnswer): string {
  const error = recordOf(answer.body)["error"] ?? answer.body;
  return `${answer.status} ${typeof error === "string" ? error : ""}`.trim();
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
