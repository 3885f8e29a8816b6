/**
 * Requests for routes that user code has added: under the same access rules as the API, answered by the user code actor. The
 * gateway owns the connection and the body memory; the actor enforces the time limit.
 */

import { type RefusalCode, refuse } from "#protocol/errors";
import { BODY_BYTES_MAX, HOOK_BODY_BYTES_MAX, HOOK_REQUESTS_MAX, ROUTE_REQUESTS_MAX } from "#protocol/limits";
import type { CustomRoute, RouteAbandoned, RouteAnswer, RouteMessage, RouteRequest } from "#protocol/routes/custom-route";
import type { Alarm } from "#runtime/timers";
import type { Exchange, ExchangeWatcher } from "../transport/transport-port.ts";
import { BodyReader, hasBody, type RawBodyTaker, type RequestHead } from "./body.ts";
import type { BodyMemory } from "./body-budget.ts";
import { replyMethodNotAllowed, replyOptions, replyRefusal, replyResponse } from "./reply.ts";
import { type Match, Router } from "./router.ts";

export interface CustomRoutePorts {
  send(message: RouteRequest | RouteAbandoned): void;
  /** The budget shared by the bodies of all requests. */
  memory: BodyMemory;
  alarm: Alarm;
  /** First request id; above those of earlier gateway threads. */
  firstId: number;
  /** Reports an answer that could not be sent. */
  defect(cause: unknown): void;
}

/** Values from the head of a request, because headers cannot be read later. */
type RequestFacts = Omit<RouteRequest, "kind" | "id" | "body">;

const NO_HEAD: RequestHead = { target: 0, name: "", key: "", ruleDepth: 0 };

export class CustomRouteTable {
  readonly #ports: CustomRoutePorts;
  readonly #open = new Map<number, OpenRequest>();
  #router = new Router<CustomRoute>();
  #nextId: number;
  #openHooks = 0;
  #drained: (() => void) | null = null;

  constructor(ports: CustomRoutePorts) {
    this.#ports = ports;
    this.#nextId = ports.firstId;
  }

  receive(message: RouteMessage): void {
    if (message.kind === "RouteAnswer") this.#answer(message);
    else if (message.kind === "RouteRequestsLost") this.#answerAll("user code was restarted; try again");
    else {
      this.#router = new Router();
      for (const route of message.routes) this.#router.add(route.method, route.path, route);
    }
  }

  match(path: string): Match<CustomRoute> | null {
    return this.#router.match(path);
  }

  /** The match of a request that needs no token, or null. */
  matchPublic({ path, method }: Exchange): Match<CustomRoute> | null {
    const match = this.#router.match(path);
    return match?.methods.get(method)?.public === true ? match : null;
  }

  /** Takes over a request whose token was checked, or that needs none. */
  serve(exchange: Exchange, { methods, values }: Match<CustomRoute>): void {
    const route = methods.get(exchange.method);
    if (route === undefined) {
      if (exchange.method === "OPTIONS") replyOptions(exchange, methods.allow);
      else replyMethodNotAllowed(exchange, methods.allow);
      return;
    }
    const params = decodeValues(route, values);
    if (params === null) return replyRefusal(exchange, refuse("not_found"));
    const { method, path, query } = exchange;
    const host = exchange.header("host") || "localhost";
    const url = `http://${host}${path}${query ? `?${query}` : ""}`;
    const facts = { route, method, url, params, headers: [...exchange.headerList()] };
    const bytesMax = route.public ? HOOK_BODY_BYTES_MAX : BODY_BYTES_MAX;
    if (hasBody(exchange)) new BodyReader(exchange, this.#ports.memory, new RouteBody(this, facts), NO_HEAD, bytesMax).start();
    else this.submit(exchange, facts, null, 0);
  }

  submit(exchange: Exchange, facts: RequestFacts, body: Uint8Array | null, bytes: number): void {
    const hook = facts.route.public;
    if (this.#open.size >= ROUTE_REQUESTS_MAX || (hook && this.#openHooks >= HOOK_REQUESTS_MAX)) {
      this.#ports.memory.giveBytes(bytes);
      replyRefusal(exchange, refuse("busy"));
      return;
    }
    const id = this.#nextId;
    this.#nextId += 1;
    const open = new OpenRequest(this, id, exchange, bytes, hook);
    this.#open.set(id, open);
    if (hook) this.#openHooks += 1;
    exchange.watch(open);
    this.#ports.send({ kind: "RouteRequest", id, ...facts, body });
  }

  /** The client disconnected. */
  left(open: OpenRequest): void {
    if (this.#close(open)) this.#ports.send({ kind: "RouteAbandoned", id: open.id });
  }

  /** Resolves when every client has its answer or after the grace period. */
  async stop(graceMs: number): Promise<void> {
    if (this.#open.size > 0 && graceMs > 0) {
      const { alarm } = this.#ports;
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
        alarm.set(graceMs * 1000, resolve);
      });
      alarm.clear();
    }
    this.#answerAll("the server is stopping");
  }

  #answer({ id, outcome }: RouteAnswer): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#close(open);
    try {
      if ("status" in outcome) replyResponse(open.exchange, outcome);
      else replyRefusal(open.exchange, refuse(FAILURES[outcome.reason], outcome.error));
    } catch (cause) {
      // Responses are checked where the handler runs; an invalid one that gets here costs only its own connection.
      this.#ports.defect(cause);
      open.exchange.cut();
    }
  }

  #answerAll(error: string): void {
    for (const open of [...this.#open.values()]) {
      replyRefusal(open.exchange, refuse("route_ended", error));
      this.#close(open);
    }
  }

  #close(open: OpenRequest): boolean {
    if (!this.#open.delete(open.id)) return false;
    if (open.hook) this.#openHooks -= 1;
    this.#ports.memory.giveBytes(open.bytes);
    if (this.#open.size === 0) this.#drained?.();
    return true;
  }
}

const FAILURES = {
  failed: "route_failed",
  "timed out": "route_timed_out",
  ended: "route_ended",
} as const satisfies Record<string, RefusalCode>;

/** A request forwarded to the user code actor, until its answer. */
class OpenRequest implements ExchangeWatcher {
  readonly id: number;
  readonly exchange: Exchange;
  readonly bytes: number;
  /** A delivery to an incoming hook. */
  readonly hook: boolean;
  readonly #table: CustomRouteTable;

  constructor(table: CustomRouteTable, id: number, exchange: Exchange, bytes: number, hook: boolean) {
    this.#table = table;
    this.id = id;
    this.exchange = exchange;
    this.bytes = bytes;
    this.hook = hook;
  }

  data(): void {}

  writable(): void {}

  aborted(): void {
    this.#table.left(this);
  }
}

/** Forwards a request when its body is complete. */
class RouteBody implements RawBodyTaker {
  readonly #table: CustomRouteTable;
  readonly #facts: RequestFacts;

  constructor(table: CustomRouteTable, facts: RequestFacts) {
    this.#table = table;
    this.#facts = facts;
  }

  takeRaw(exchange: Exchange, _head: RequestHead, body: Uint8Array<ArrayBuffer>, bytes: number): void {
    this.#table.submit(exchange, this.#facts, body, bytes);
  }
}

/** The values by parameter name; null on invalid percent-encoding. */
function decodeValues({ path }: CustomRoute, values: readonly string[]): Record<string, string> | null {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  try {
    return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(values[index] ?? "")]));
  } catch {
    return null;
  }
}
