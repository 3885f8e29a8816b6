/**
 * The gateway as an actor: HTTP and SSE on one side, commands to the core and the committed feed on the other.
 * The path of a request through its parts is in README.md.
 */

import type { HeapInfo } from "node:v8";
import { refuse } from "#protocol/errors";
import type { RouteAbandoned, RouteMessage, RouteRequest } from "#protocol/routes/custom-route";
import type { Command, CommandNotice } from "#protocol/wire/command";
import type { FeedMessage, LiveFlows, Serving } from "#protocol/wire/feed";
import { STALL_US } from "#runtime/host";
import { createSystemAlarm } from "#runtime/timers";
import { GatewayState } from "./gateway-state.ts";
import { Pages } from "./pages/pages.ts";
import { Reads } from "./reads/reads.ts";
import { Access } from "./request/auth.ts";
import { BodyBudget } from "./request/body-budget.ts";
import { withoutToken } from "./request/callback-endpoint.ts";
import { CustomRouteTable } from "./request/custom-routes.ts";
import type { Endpoint } from "./request/endpoint.ts";
import { Readiness } from "./request/readiness.ts";
import { replyDefect, replyMethodNotAllowed, replyOptions, replyRefusal } from "./request/reply.ts";
import type { Match } from "./request/router.ts";
import { HeadFacts } from "./transport/head-facts.ts";
import { createTransport, type TransportName } from "./transport/transport.ts";
import type { Exchange, ExchangeWatcher, RequestHandler, Transport } from "./transport/transport-port.ts";

/** How long an orderly stop waits for outstanding answers. */
const STOP_GRACE_MS = 2_000;
/** Characters of a path that are logged. */
const PATH_LENGTH_SHOWN = 200;

export interface GatewayOptions {
  host: string;
  /** 0 chooses a free port; null opens no listener, for requests of this process only. */
  port: number | null;
  /** Path of the Unix socket to serve as well; it needs no token. */
  socket: string | null;
  token: string | null;
  /** Names besides the loopback names and `host` under which clients may address this server. */
  allowed_hosts: readonly string[];
  /** MCP clients may only read. */
  mcp_read_only: boolean;
  home: string;
  served_dir: string | null;
  version: string;
  /** The path of the SQLite file, or the URL of the PostgreSQL database. */
  store: string;
  /** Folder of the built dashboard, or null. */
  dashboard: string | null;
  /** The server library; null takes the fastest library that loads here. */
  transport: TransportName | null;
  /** Maximum number of connections; further connections get 503 and are closed. */
  connections_max: number;
}

export type GatewayMessage = FeedMessage | LiveFlows | RouteMessage | Serving;

export interface GatewayPorts {
  send(actor: string, message: Command | CommandNotice): void;
  /** Sends to the user code actor. */
  sendRoute(message: RouteRequest | RouteAbandoned): void;
  /** Reports that stream messages up to this number have been read. */
  read(seq: number): void;
  /** Microseconds; only differences are used, so a monotonic clock is best. */
  now(): number;
  /** A random id that cannot be guessed. */
  newId(): string;
  /** The gateway's state may be inconsistent: the caller has to call `restart`. */
  failed(cause: unknown): void;
  /** Reports a defect that costs one request or message; standard error if absent. */
  defect?(cause: unknown): void;
  /** Writes a line to the server's log; standard error if absent. */
  warn?(text: string): void;
  /** Handling a request blocked the thread for this long. */
  held?(what: string, tookUs: number): void;
  /** The metrics were read. */
  scraped?(): void;
}

export interface Gateway {
  /**
   * Listens; throws a ListenError when the address or the socket is taken. `fallback` is the reason for not using the faster
   * server library, unless that was configured.
   */
  start(): Promise<{ port: number; fallback: string | null }>;
  /** Serves a request of this process, without HTTP. */
  serve(exchange: Exchange): void;
  /** Handles a message of the committed feed, in feed order, or of the records and user code actors. A throw is a failure. */
  receive(message: GatewayMessage): void;
  /** The heaps of the reader threads. */
  readerHeaps(): Promise<HeapInfo[]>;
  /** After a failure: rebuilds the state. Connections stay; `failedAt` is the message whose handling failed. */
  restart(failedAt: GatewayMessage | null): void;
  /** Ends streams, rejects new requests, waits briefly for outstanding answers, then closes. The thread may end afterwards. */
  stop(): Promise<void>;
  /** Like `stop`, without waiting. */
  close(): Promise<void>;
}

export function createGateway(options: GatewayOptions, ports: GatewayPorts): Gateway {
  return new HttpGateway(options, ports);
}

/** Owns the connections and the access to the store, which survive a failure of the gateway's state (state.ts). */
class HttpGateway implements Gateway, RequestHandler {
  readonly #options: GatewayOptions;
  readonly #ports: Required<GatewayPorts>;
  readonly #access: Access;
  readonly #reads: Reads;
  readonly #bodies = new BodyBudget();
  readonly #readiness = new Readiness();
  /** Head of the request that is being handled. */
  readonly #head = new HeadFacts();
  #transport: Transport | null = null;
  /** Requests for custom routes. Not part of GatewayState, so a failure of the state does not affect them. */
  readonly #custom: CustomRouteTable;
  #state: GatewayState;
  #pages: Pages;
  #stopped: Promise<void> | null = null;

  constructor(options: GatewayOptions, ports: GatewayPorts) {
    this.#options = options;
    this.#ports = { defect: tellDefect, warn: tellDefect, held: () => undefined, scraped: () => undefined, ...ports };
    this.#access = new Access(options);
    this.#reads = new Reads(options.store, {
      failed: (exchange, cause) => this.failed(exchange, cause),
      defect: this.#ports.defect,
    });
    this.#state = new GatewayState(options, this.#ports, this.#reads, this.#bodies.decided, this.#readiness);
    this.#custom = new CustomRouteTable({
      send: (message) => ports.sendRoute(message),
      memory: this.#bodies,
      firstId: this.#state.firstId,
      alarm: createSystemAlarm(),
      defect: this.#ports.defect,
    });
    this.#pages = new Pages(null, options.version, "");
  }

  async start(): Promise<{ port: number; fallback: string | null }> {
    const { host, socket, version } = this.#options;
    try {
      const wanted = this.#options.port;
      const { port, fallback } = wanted === null ? { port: 0, fallback: null } : await this.#listen(host, wanted, socket);
      this.#pages = new Pages(this.#options.dashboard, version, `http://${host.includes(":") ? `[${host}]` : host}:${port}`);
      return { port, fallback };
    } catch (cause) {
      await this.close();
      throw cause;
    }
  }

  serve(exchange: Exchange): void {
    try {
      this.request(exchange);
    } catch (cause) {
      this.failed(exchange, cause);
    }
  }

  receive(message: GatewayMessage): void {
    if (message.kind === "Serving") this.#readiness.report(message.reason);
    else if (isRouteMessage(message)) this.#custom.receive(message);
    else this.#state.receive(message);
  }

  readerHeaps(): Promise<HeapInfo[]> {
    return this.#reads.heaps();
  }

  restart(failedAt: GatewayMessage | null): void {
    const state = new GatewayState(this.#options, this.#ports, this.#reads, this.#bodies.decided, this.#readiness);
    state.takeOver(this.#state);
    this.#state = state;
    if (failedAt !== null && failedAt.kind !== "Serving" && !isRouteMessage(failedAt)) state.recover(failedAt);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#finish(STOP_GRACE_MS);
    return this.#stopped;
  }

  close(): Promise<void> {
    this.#stopped ??= this.#finish(0);
    return this.#stopped;
  }

  request(exchange: Exchange): void {
    const startUs = this.#ports.now();
    this.#route(exchange);
    this.#noteHeld(exchange, startUs);
  }

  body(exchange: Exchange, watcher: ExchangeWatcher, piece: Uint8Array, last: boolean): void {
    const startUs = this.#ports.now();
    watcher.data(piece, last);
    this.#noteHeld(exchange, startUs);
  }

  #noteHeld({ method, path }: Exchange, startUs: number): void {
    const tookUs = this.#ports.now() - startUs;
    if (tookUs > STALL_US) this.#ports.held(`${method} ${shown(path)}`, tookUs);
  }

  #route(exchange: Exchange): void {
    const head = this.#head.read(exchange);
    const framing = head.framingRefusal();
    if (framing !== null) {
      // A proxy in front of this server may have parsed the request differently.
      replyRefusal(exchange, framing, true);
      return;
    }
    const source = this.#access.checkSource(exchange, head);
    if (source !== null) {
      // Other servers send deliveries to incoming hooks by any name of this server; their signature is checked instead.
      const hook = this.#custom.matchPublic(exchange);
      if (hook === null) replyRefusal(exchange, source);
      else this.#custom.serve(exchange, hook);
      return;
    }
    const match = this.#state.router.match(exchange.path);
    if (match !== null) {
      this.#serve(exchange, match);
      return;
    }
    const custom = this.#custom.match(exchange.path);
    if (custom !== null) {
      const hook = custom.methods.get(exchange.method)?.public === true;
      const refusal = hook ? null : this.#access.checkToken(exchange);
      if (refusal === null) this.#custom.serve(exchange, custom);
      else replyRefusal(exchange, refusal);
      return;
    }
    if (exchange.path.startsWith("/api/")) replyRefusal(exchange, refuse("not_found"));
    else this.#pages.serve(exchange);
  }

  failed(exchange: Exchange, cause: unknown): void {
    const id = this.#ports.newId();
    const { method, path } = exchange;
    this.#ports.defect(new Error(`error ${id} of ${method} ${shown(path)}: ${messageOf(cause)}`, { cause }));
    if (exchange.open) replyDefect(exchange, id);
  }

  async #listen(host: string, wanted: number, socket: string | null): Promise<{ port: number; fallback: string | null }> {
    const { transport, fallback } = await createTransport(this.#options.transport, this);
    this.#transport = transport;
    transport.connectionsMax = this.#options.connections_max;
    const port = await transport.listen(host, wanted);
    if (socket !== null) await transport.listenUnix(socket);
    return { port, fallback };
  }

  #serve(exchange: Exchange, { methods, values }: Match<Endpoint>): void {
    const endpoint = methods.get(exchange.method);
    if (endpoint?.auth !== false) {
      const refusal = this.#access.checkToken(exchange);
      if (refusal !== null) {
        replyRefusal(exchange, refusal);
        return;
      }
    }
    if (endpoint !== undefined) endpoint.serve(exchange, values);
    else if (exchange.method === "OPTIONS") replyOptions(exchange, methods.allow);
    else replyMethodNotAllowed(exchange, methods.allow);
  }

  async #finish(graceMs: number): Promise<void> {
    this.#transport?.stopListening();
    await Promise.all([this.#state.stop(graceMs), this.#custom.stop(graceMs)]);
    // MCP tools write their last answers in promises that are still pending.
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#transport?.close();
    await this.#reads.close();
  }
}

function isRouteMessage(message: Exclude<GatewayMessage, Serving>): message is RouteMessage {
  return message.kind === "RouteAnswer" || message.kind === "CustomRoutes" || message.kind === "RouteRequestsLost";
}

/** A path for the log. */
function shown(path: string): string {
  return withoutToken(path).slice(0, PATH_LENGTH_SHOWN);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

function tellDefect(cause: unknown): void {
  process.stderr.write(`gateway: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`);
}
