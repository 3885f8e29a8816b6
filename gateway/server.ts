/**
 * The gateway as an actor: HTTP and SSE on one side, commands to the core and the committed feed on the other.
 * The path of a request through its parts is in README.md.
 */
import type { Command, CommandNotice } from "#protocol/command";
import type { RouteAbandoned, RouteMessage, RouteRequest } from "#protocol/custom-route";
import { refuse } from "#protocol/errors";
import type { Committed, FeedMessage, LiveFlows } from "#protocol/feed";
import { type Alarm, createSystemAlarm } from "#runtime/timers";
import { Access } from "./auth.ts";
import { OutstandingCommands } from "./commands.ts";
import { CustomRouteTable } from "./custom-routes.ts";
import type { Endpoint } from "./endpoint.ts";
import { buildRouter } from "./endpoints.ts";
import { McpEndpoint } from "./mcp/endpoint.ts";
import { Pages } from "./pages.ts";
import { Reads } from "./reads.ts";
import { replyDefect, replyMethodNotAllowed, replyOptions, replyRefusal } from "./reply.ts";
import type { Match, Router } from "./router.ts";
import { StreamHub } from "./sse.ts";
import { StreamRing } from "./stream-ring.ts";
import { createTransport } from "./transport.ts";
import type { Exchange, RequestHandler, Transport } from "./transport-port.ts";

/** How long an orderly stop waits for answers that are on their way. */
const STOP_GRACE_MS = 2_000;

export interface GatewayOptions {
  host: string;
  /** 0 chooses a free one. */
  port: number;
  /** Path of the Unix socket to serve as well; it needs no token. */
  socket: string | null;
  token: string | null;
  /** Names besides the loopback ones and `host` under which clients may address this server. */
  allowed_hosts: readonly string[];
  /** Agents may only read (MCP). */
  mcp_read_only: boolean;
  home: string;
  served_dir: string | null;
  version: string;
  database_path: string;
}

export type GatewayMessage = FeedMessage | LiveFlows | RouteMessage;

export interface GatewayPorts {
  send(actor: string, message: Command | CommandNotice): void;
  /** Tells the user code actor. */
  sendRoute(message: RouteRequest | RouteAbandoned): void;
  /** Microseconds; only differences are used, so a clock that never steps is best. */
  now(): number;
  /** A random id that cannot be guessed. */
  newId(): string;
  /** Told about defects; standard error without it. */
  defect?(cause: unknown): void;
}

export interface Gateway {
  /** Listens; throws a ListenError when the address or the socket is taken. */
  start(): Promise<{ port: number }>;
  /** A message of the committed feed, in feed order, or news of the records and user code actors. */
  receive(message: GatewayMessage): void;
  /** Ends streams, refuses new requests, waits shortly for answers on their way, then closes. The thread may end afterwards. */
  stop(): Promise<void>;
  /** As `stop`, without waiting for anything: for a gateway that failed, so that the next one can listen. */
  close(): Promise<void>;
}

export function createGateway(options: GatewayOptions, ports: GatewayPorts): Gateway {
  return new HttpGateway(options, ports);
}

class HttpGateway implements Gateway, RequestHandler {
  readonly #options: GatewayOptions;
  readonly #ports: GatewayPorts;
  readonly #access: Access;
  readonly #reads: Reads;
  readonly #ring: StreamRing;
  readonly #hub: StreamHub;
  readonly #commands: OutstandingCommands;
  readonly #router: Router<Endpoint>;
  readonly #custom: CustomRouteTable;
  readonly #transport: Transport;
  #pages: Pages;
  #stopped: Promise<void> | null = null;

  constructor(options: GatewayOptions, ports: GatewayPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#access = new Access(options);
    this.#reads = new Reads(options.database_path, (cause) => this.#defect(cause));
    this.#ring = new StreamRing((kind, id) => this.#reads.renderRow(kind, id));
    this.#hub = new StreamHub(this.#ring, {
      now: ports.now,
      window: this.#alarm(),
      keepAlive: this.#alarm(),
      defer: (work) => setImmediate(() => this.#guard(work)),
    });
    // Far fewer than a thousand requests come per millisecond, so a later gateway of this process starts above.
    const firstId = Date.now() * 1000;
    this.#commands = new OutstandingCommands({
      send: (actor, message) => ports.send(actor, message),
      now: ports.now,
      alarm: this.#alarm(),
      latestSeq: () => this.#ring.latest,
      renderEvent: (id) => this.#reads.renderRow("event.created", id),
      firstId,
    });
    this.#custom = new CustomRouteTable({
      send: (message) => ports.sendRoute(message),
      takeBytes: (bytes) => this.#commands.takeBytes(bytes),
      giveBytes: (bytes) => this.#commands.giveBytes(bytes),
      alarm: this.#alarm(),
      firstId,
    });
    const mcp = new McpEndpoint({
      commands: this.#commands,
      reads: this.#reads,
      version: options.version,
      readOnly: options.mcp_read_only,
      newId: ports.newId,
      now: ports.now,
      wallUs: () => Date.now() * 1000,
      defect: (cause) => this.#defect(cause),
    });
    this.#router = buildRouter(this.#commands, this.#hub, this.#reads, mcp);
    this.#pages = new Pages(options.version, "");
    this.#transport = createTransport(this);
  }

  async start(): Promise<{ port: number }> {
    const { host, socket, version } = this.#options;
    try {
      const port = await this.#transport.listen(host, this.#options.port);
      if (socket !== null) await this.#transport.listenUnix(socket);
      this.#pages = new Pages(version, `http://${host.includes(":") ? `[${host}]` : host}:${port}`);
      return { port };
    } catch (cause) {
      await this.close();
      throw cause;
    }
  }

  receive(message: GatewayMessage): void {
    // A throw would end the actor and leave its open app behind.
    this.#guard(() => {
      if (message.kind === "Committed") this.#committed(message);
      else if (message.kind === "Reloaded") this.#commands.reloaded(message.epoch);
      else if (message.kind === "ReadOnly") this.#commands.readOnly(message);
      else if (message.kind === "LiveFlows") this.#reads.setLive(message.ids);
      else this.#custom.receive(message);
    });
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
    const source = this.#access.checkSource(exchange);
    if (source !== null) {
      replyRefusal(exchange, source);
      return;
    }
    const match = this.#router.match(exchange.path);
    if (match !== null) {
      this.#serve(exchange, match);
      return;
    }
    const custom = this.#custom.match(exchange.path);
    if (custom !== null) {
      const refusal = this.#access.checkToken(exchange);
      if (refusal === null) this.#custom.serve(exchange, custom);
      else replyRefusal(exchange, refusal);
      return;
    }
    if (exchange.path.startsWith("/api/")) replyRefusal(exchange, refuse("not_found"));
    else this.#pages.serve(exchange);
  }

  failed(exchange: Exchange, cause: unknown): void {
    this.#defect(cause);
    if (exchange.open) replyDefect(exchange);
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

  #committed(commit: Committed): void {
    // The ring first: an answer may tell the newest stream number, and its client may ask for the stream at once.
    const seamless = this.#ring.append(commit, this.#answerWithEvent);
    this.#commands.settle(commit.replies);
    this.#hub.published(seamless);
  }

  /** An event is stored under a number that only the commit knows: its record is the answer to the command that emitted it. */
  readonly #answerWithEvent = (command: number, event: number): void => {
    this.#commands.settle([command, 201, this.#reads.renderRow("event.created", event)]);
  };

  async #finish(graceMs: number): Promise<void> {
    this.#transport.stopListening();
    this.#hub.close();
    await Promise.all([this.#commands.stop(graceMs), this.#custom.stop(graceMs)]);
    // What tools make of the last answers is written in promises that are still to run.
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#transport.close();
    await this.#reads.close();
  }

  #alarm(): Alarm {
    const alarm = createSystemAlarm();
    return { set: (delayUs, wake) => alarm.set(delayUs, () => this.#guard(wake)), clear: () => alarm.clear() };
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (cause) {
      this.#defect(cause);
    }
  }

  #defect(cause: unknown): void {
    if (this.#ports.defect !== undefined) this.#ports.defect(cause);
    else process.stderr.write(`gateway: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`);
  }
}
