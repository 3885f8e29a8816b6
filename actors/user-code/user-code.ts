/**
 * The user code actor: calls rules in code, hooks and custom routes in a separate process.
 *
 * Messages in: stored calls, requests of the gateway, discoveries in the served directory. Effects out: the outcome of each.
 * A stored call that arrives again while in progress is ignored. When the process ends, requests are lost, but stored calls
 * are retried, three times in total; calls that were in progress are retried one by one, so that the call that ends the
 * process does not affect others.
 */

import { HOOK_MS_MAX, RULE_CALL_MS_MAX } from "#protocol/limits";
import type { CodeProblems } from "#protocol/records/server";
import type { CustomRoute, CustomRoutes, RouteAnswer, RouteRequest, RouteRequestsLost } from "#protocol/routes/custom-route";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { DISPATCHER, GATEWAY, RECORDS, USER_CODE } from "../names.ts";
import type { OutboundDone, ReceiverStarted } from "../rule-engine/rule-messages.ts";
import type { CallOutcome, HookDone, RouteCall, UserCall, UserCallRequest } from "./user-code-calls.ts";
import type { UserCodeMessage } from "./user-code-messages.ts";

/** The user-code process. */
export interface UserCodeProcess {
  /** Without a signal, waits for a starting process as long as necessary. */
  call(call: UserCall | RouteCall, limitMs: number, signal?: AbortSignal): Promise<CallOutcome>;
  /** Checks the files; true when a new discovery is due. */
  look(): Promise<boolean>;
  stop(): void;
}

export interface UserCodePorts {
  process: UserCodeProcess;
  nowUs(): number;
  send(to: string, message: unknown): void;
  /** The routes of the last discovery. */
  routes(): CustomRoute[];
  /** The files have changed: discover again; the result arrives as CodeFound. */
  discover(): void;
}

/** Maximum of concurrent stored calls. */
const CONCURRENT_MAX = 32;
/** Attempts for a stored call when its process ends each time. */
const TRIES_MAX = 3;
/** Interval of the file checks. */
const LOOK_US = 500_000;

export class UserCode implements Actor<UserCodeMessage> {
  readonly #ports: UserCodePorts;
  readonly #requests = new Map<number, AbortController>();
  /** Attempts so far of each known stored call. */
  readonly #tries = new Map<number, number>();
  readonly #waiting: UserCallRequest[] = [];
  /** Calls during which the process ended. */
  readonly #suspects: UserCallRequest[] = [];
  #underWay = 0;
  #stopped = false;

  constructor(ports: UserCodePorts) {
    this.#ports = ports;
  }

  begin(out: Outbox): void {
    out.send(GATEWAY, { kind: "RouteRequestsLost" } satisfies RouteRequestsLost);
    out.send(DISPATCHER, { kind: "ReceiverStarted", receiver: USER_CODE } satisfies ReceiverStarted);
    out.setTimer("look", this.#ports.nowUs() + LOOK_US, { kind: "Look" });
  }

  receive(message: UserCodeMessage, out: Outbox): void {
    switch (message.kind) {
      case "UserCall":
        return this.#take(message);
      case "RouteRequest":
        return void this.#answer(message);
      case "RouteAbandoned":
        return this.#requests.get(message.id)?.abort();
      case "CodeFound":
        out.send(RECORDS, message.flows);
        out.send(RECORDS, message.rules);
        if (message.reloaded !== null) out.send(RECORDS, message.reloaded);
        out.send(RECORDS, { kind: "CustomRoutes", routes: message.routes } satisfies CustomRoutes);
        out.send(RECORDS, { kind: "CodeProblems", problems: message.problems } satisfies CodeProblems);
        return out.send(GATEWAY, { kind: "CustomRoutes", routes: message.routes } satisfies CustomRoutes);
      case "GatewayStarted":
        return out.send(GATEWAY, { kind: "CustomRoutes", routes: this.#ports.routes() } satisfies CustomRoutes);
      case "Look":
        void this.#look();
        return out.setTimer("look", this.#ports.nowUs() + LOOK_US, { kind: "Look" });
      default:
        return message satisfies never;
    }
  }

  /** Calls in progress are made again after the next start, because their rows stay. */
  stop(failed: boolean): void {
    this.#stopped = true;
    if (!failed) this.#ports.process.stop();
  }

  async #look(): Promise<void> {
    if (await this.#ports.process.look()) this.#ports.discover();
  }

  #take(request: UserCallRequest): void {
    if (this.#tries.has(request.id)) return;
    this.#tries.set(request.id, 0);
    this.#waiting.push(request);
    this.#startNext();
  }

  #startNext(): void {
    if (this.#suspects.length > 0) {
      const suspect = this.#underWay === 0 ? this.#suspects.shift() : undefined;
      if (suspect !== undefined) void this.#make(suspect);
      return;
    }
    while (this.#underWay < CONCURRENT_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      void this.#make(next);
    }
  }

  async #make(request: UserCallRequest): Promise<void> {
    const tries = (this.#tries.get(request.id) ?? 0) + 1;
    this.#tries.set(request.id, tries);
    this.#underWay += 1;
    const limitMs = request.call.type === "rule" ? RULE_CALL_MS_MAX : HOOK_MS_MAX;
    const outcome = await this.#ports.process.call(request.call, limitMs);
    this.#underWay -= 1;
    // Stopped: calls without a result are made again at the next start.
    if (this.#stopped) return;
    if (outcome.type === "ended" && tries < TRIES_MAX) this.#suspects.push(request);
    else {
      this.#tries.delete(request.id);
      this.#ports.send(DISPATCHER, doneOf(request, outcome, limitMs));
    }
    this.#startNext();
  }

  async #answer({ id, route, ...request }: RouteRequest): Promise<void> {
    const abandoned = new AbortController();
    this.#requests.set(id, abandoned);
    const { method, url, params, headers, body } = request;
    const declared = { method: route.method, path: route.path };
    const call: RouteCall = { type: "route", module: route.source, declared, method, url, params, headers, body };
    const signal = AbortSignal.any([abandoned.signal, AbortSignal.timeout(route.limit_ms)]);
    const outcome = await this.#ports.process.call(call, route.limit_ms, signal);
    this.#requests.delete(id);
    if (abandoned.signal.aborted || this.#stopped) return;
    this.#ports.send(GATEWAY, { kind: "RouteAnswer", id, outcome: answerOf(route, outcome) } satisfies RouteAnswer);
  }
}

function doneOf({ id, firing_id, call }: UserCallRequest, outcome: CallOutcome, limitMs: number): OutboundDone | HookDone {
  const error = errorOf(outcome, limitMs);
  if (call.type === "rule") {
    const detail = outcome.type === "rule" ? outcome.detail : null;
    return { kind: "OutboundDone", id, firing_id, result: error === null ? { detail } : { error } };
  }
  return { kind: "HookDone", id, run_id: call.run.id, items: outcome.type === "hook" ? outcome.items : [], error };
}

/** The error of a call, or null. */
function errorOf(outcome: CallOutcome, limitMs: number): string | null {
  switch (outcome.type) {
    case "failed":
      return outcome.error;
    case "timed out":
      return `it took longer than ${limitMs / 1000} s`;
    case "ended":
      return `the process of user code ended during the call, ${TRIES_MAX} times: ${outcome.cause}`;
    default:
      return null;
  }
}

function answerOf({ method, path, limit_ms }: CustomRoute, outcome: CallOutcome): RouteAnswer["outcome"] {
  const name = `route ${method} ${path}`;
  switch (outcome.type) {
    case "route":
      return outcome.response;
    case "timed out":
      return { reason: "timed out", error: `${name} took longer than ${limit_ms / 1000} s` };
    case "ended":
      return { reason: "ended", error: `the process of user code ended while it worked on ${name}: ${outcome.cause}` };
    default:
      return { reason: "failed", error: `${name}: ${outcome.type === "failed" ? outcome.error : "no answer"}` };
  }
}
