/**
 * The client of a Millrace server, for Node and browsers. Records keep the spelling of the HTTP interface;
 * times are integer microseconds since the Unix epoch.
 */

import { Artifacts } from "./artifacts.ts";
import { Backfills } from "./backfills.ts";
import { MillraceError } from "./error.ts";
import { Events } from "./events.ts";
import { Flows } from "./flows.ts";
import { fetchPeer, Http, type Peer } from "./http.ts";
import { Leases } from "./leases.ts";
import { Logs } from "./logs.ts";
import type {
  ActorInfo,
  ClockAccepted,
  Counts,
  JsonObject,
  Loose,
  Queue,
  Ready,
  ServerInfo,
  Settings,
  SettingsPatch,
  Stats,
  Vocabulary,
} from "./records.ts";
import { Rules } from "./rules.ts";
import { Runs } from "./runs.ts";
import { Schedules } from "./schedules.ts";
import { followStream, type StreamMessage, type StreamOptions } from "./stream.ts";
import { TaskRuns } from "./task-runs.ts";
import { Variables } from "./variables.ts";
import type { EndedRun, WaitOptions } from "./wait.ts";

export type { ArtifactFilter, CreateArtifact } from "./artifacts.ts";
export type { CreateBackfill } from "./backfills.ts";
export { type Failure, type FailureReason, MillraceError } from "./error.ts";
export type { EmitEvent, EventFilter } from "./events.ts";
export type { FlowRun } from "./flows.ts";
export type { Answer, Outgoing, Peer } from "./http.ts";
export type { CreateOptions, CreateRunOptions } from "./idempotency.ts";
export type { AcquireOptions } from "./leases.ts";
export { Listing, type ListOptions, type Page } from "./listing.ts";
export type { LogSearchFilter } from "./logs.ts";
export type * from "./records.ts";
export { ResultLostError, ResultTooLargeError } from "./result-lost-error.ts";
export type { CreateRule } from "./rules.ts";
export type { CreateManyOptions, CreateRun, LogFilter, NewRun, RunCountsFilter, RunFilter, Transition } from "./runs.ts";
export type { StreamData, StreamFilter, StreamMessage, StreamOptions } from "./stream.ts";
export type { TaskRunFilter } from "./task-runs.ts";
export type { SetVariable } from "./variables.ts";
export { type EndedRun, hasEnded, type RerunOptions, type ResultOf, type WaitOptions } from "./wait.ts";

/** Location of the server. With neither url nor socket, the running server of `home` is found by its discovery file. */
export interface MillraceOptions {
  /** Base address, for example http://127.0.0.1:4270. In a browser the default is the page's own origin. */
  url?: string | undefined;
  /** Bearer token. Default without url and socket: MILLRACE_TOKEN. */
  token?: string | null | undefined;
  /** Path of the server's Unix socket (Node only). Needs no token. */
  socket?: string | undefined;
  /** Data directory of the server (Node only). Default: MILLRACE_HOME, or ~/.millrace. */
  home?: string | undefined;
  /** Parses the server's JSON text. Default: JSON.parse, which rounds integers beyond 2^53. */
  parse?: ((text: string) => unknown) | undefined;
  /** A custom transport that replaces all others: called at the first request, and again after its connection was lost. */
  peer?: (() => Promise<Peer>) | undefined;
}

/**
 * A connection to a server. The constructor does nothing yet: the server is looked up at the first request, and again after its
 * connection was lost. All methods throw MillraceError.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Millrace } from "millrace/client";
 *
 * // The server of this machine; new Millrace({ url, token }) for another one.
 * const client = new Millrace();
 * const run = await client.runs.create({ project: "shop", flow: "greeting", parameters: { name: "Ada" } });
 * const { result } = await client.waitFor(run.id);
 * assert.equal(result, "Hello, Ada");
 * ```
 */
export class Millrace {
  /** Runs: creating, listing and moving them, and their logs, steps and waits. */
  readonly runs: Runs;
  /** Task runs of all runs. */
  readonly taskRuns: TaskRuns;
  /** Flows: listing them, and creating runs of a flow by its id. */
  readonly flows: Flows;
  /** Events: listing and emitting them. */
  readonly events: Events;
  /** Artifacts: listing and publishing them. */
  readonly artifacts: Artifacts;
  /** Schedules of flows: their fires, pauses and skips. */
  readonly schedules: Schedules;
  /** Backfills: runs of a flow for each value of a range. */
  readonly backfills: Backfills;
  /** Rules: actions of the server when an event happens, or does not happen in time. */
  readonly rules: Rules;
  /** Variables: named values that outlive runs. */
  readonly variables: Variables;
  /** Leases: amounts of limited resources that a run holds. */
  readonly leases: Leases;
  /** The log lines of all runs. */
  readonly logs: Logs;
  readonly #http: Http;

  constructor(options: MillraceOptions = {}) {
    this.#http = new Http(options.peer ?? (() => findPeer(options)), options.parse ?? JSON.parse);
    this.runs = new Runs(this.#http);
    this.taskRuns = new TaskRuns(this.#http);
    this.flows = new Flows(this.#http);
    this.events = new Events(this.#http);
    this.artifacts = new Artifacts(this.#http);
    this.schedules = new Schedules(this.#http);
    this.backfills = new Backfills(this.#http);
    this.rules = new Rules(this.#http);
    this.variables = new Variables(this.#http);
    this.leases = new Leases(this.#http);
    this.logs = new Logs(this.#http);
  }

  /** The address in use; looks the server up if that has not happened yet. */
  async address(): Promise<string> {
    return (await this.#http.peer()).url;
  }

  /** True when the server is up. Needs no token. */
  async health(): Promise<boolean> {
    return (await this.#http.get<{ ok?: boolean }>("/api/health")).ok !== false;
  }

  /** Whether the server takes work, and if not, why. Needs no token. */
  async ready(): Promise<Ready> {
    try {
      return await this.#http.get<Ready>("/api/ready");
    } catch (error) {
      if (error instanceof MillraceError && error.status === 503) return error.body as Ready;
      throw error;
    }
  }

  /** The version, addresses and condition of the server. */
  server(): Promise<ServerInfo> {
    return this.#http.get<ServerInfo>("/api/server");
  }

  /**
   * Accepts the clock of the server's machine as right: retention continues after a step of the clock, and schedules that
   * decided fires while the clock was ahead continue from now.
   */
  acceptClock(): Promise<ClockAccepted> {
    return this.#http.json<ClockAccepted>("POST", "/api/clock/accept", { repeatable: true });
  }

  /** The settings in effect. */
  settings(): Promise<Settings> {
    return this.#http.get<Settings>("/api/settings");
  }

  /**
   * Changes settings at once (null and absent keep a value) and in the configuration file of the served directory. @throws
   * MillraceError 422.
   */
  patchSettings(patch: Loose<SettingsPatch>): Promise<Settings> {
    return this.#http.json<Settings>("PATCH", "/api/settings", { body: patch, repeatable: true });
  }

  /** Number of runs and task runs by state type. */
  counts(filter: { project?: string | undefined } = {}): Promise<Counts> {
    return this.#http.get<Counts>("/api/counts", filter);
  }

  /** The waiting runs, what each waits for, and which runs hold it. */
  queue(): Promise<Queue> {
    return this.#http.get<Queue>("/api/queue");
  }

  /** Runs and task runs that ended in the last hours (default 24), by flow and by task, with their durations. */
  stats(options: { hours?: number | undefined } = {}): Promise<Stats> {
    return this.#http.get<Stats>("/api/stats", options);
  }

  /** The actors of the server and their condition. */
  actors(): Promise<ActorInfo[]> {
    return this.#http.get<ActorInfo[]>("/api/actors");
  }

  /** The names of events and states that the server knows. */
  vocabulary(): Promise<Vocabulary> {
    return this.#http.get<Vocabulary>("/api/vocabulary");
  }

  /** The OpenAPI description of the interface. */
  openapi(): Promise<JsonObject> {
    return this.#http.get<JsonObject>("/api/openapi.json");
  }

  /**
   * Live messages. The iteration reconnects automatically and continues after the last message; a `resync` message reports that
   * some messages were lost for good. Leaving the loop, or the signal, ends the iteration.
   */
  stream(options: StreamOptions = {}): AsyncGenerator<StreamMessage> {
    return followStream(this.#http, options);
  }

  /**
   * Resolves when the run has ended, in any state, with the return value of its flow.
   * @throws ResultLostError when the result is not stored; ResultTooLargeError where it is too large
   */
  waitFor<Result = unknown>(runId: number, options: WaitOptions = {}): Promise<EndedRun<Result>> {
    return this.runs.waitFor<Result>(runId, options);
  }
}

/** Loads the Node-only file on demand, so that a browser never requests it. */
async function findPeer(options: MillraceOptions): Promise<Peer> {
  const { url, socket, home, token } = options;
  if (socket !== undefined) return (await import("./local-server.ts")).socketPeer(socket, token ?? null);
  if (url !== undefined) return fetchPeer(url, token ?? null);
  if (typeof process === "undefined" || process.versions?.node === undefined) return fetchPeer("", token ?? null);
  return (await import("./local-server.ts")).localPeer({ home, token });
}
