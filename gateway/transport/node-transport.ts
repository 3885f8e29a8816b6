/**
 * The transport port on node:http, for systems without a uWebSockets.js binary. Enforces the limits of that library: size of
 * the head, idle seconds, and how slowly a body may arrive or a response be read.
 *
 * Facts about node:http that this file relies on: we have to write content-length ourselves; header texts are written as
 * Latin-1; `close` of an HTTP server would end idle connections, which engines still use to be told to leave; no `drain`
 * event ever comes for a client that reads nothing.
 */
import { chmodSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { type Alarm, createSystemAlarm } from "#runtime/timers";
import { checkSocketPath, isLoopbackHost, listenError, SOCKET_MODE, socketError } from "./address.ts";
import { statusLine } from "./status-lines.ts";
import {
  CONNECTION_REFUSED,
  type Exchange,
  type ExchangeWatcher,
  type HeaderList,
  type HeaderVisitor,
  type Method,
  type RequestHandler,
  type Transport,
  UNIX_CONNECTIONS_EXTRA,
} from "./transport-port.ts";

/** Size of a request head, as in uWebSockets.js, which reads the same variable. */
const HEAD_BYTES_MAX = Number(process.env["UWS_HTTP_MAX_HEADERS_SIZE"]) || 4096;
/** An idle connection ends after this; uWebSockets.js: HTTP_IDLE_TIMEOUT_S. */
const IDLE_MS = 10_000;
/** Minimum bytes of a body in each IDLE_MS; uWebSockets.js: HTTP_RECEIVE_THROUGHPUT_BYTES, 16 KiB a second. */
const BODY_PACE_BYTES = 16 * 1024 * (IDLE_MS / 1000);
/** Interval of the check for incomplete heads. */
const CHECK_MS = 1_000;
/** Connections queued by the system until they are accepted, as in uWebSockets.js. */
const BACKLOG = 512;
const NOTHING = new Uint8Array(0);
/** ASCII only: the same bytes in UTF-8 and Latin-1. */
const PLAIN = /^\p{ASCII}*$/u;

/** Connections that end with the current response: node:http may still parse later bytes as a request, which is ignored. */
const ENDING = new WeakSet<Socket>();

const REFUSED = refusedConnection();

function refusedConnection(): string {
  const { status, headers, body } = CONNECTION_REFUSED;
  const lines = headers.map((text, index) => (index % 2 === 0 ? `${text}: ${headers[index + 1]}` : "")).filter(Boolean);
  return [`HTTP/1.1 ${statusLine(status)}`, ...lines, "connection: close", `content-length: ${body.length}`, "", body].join(
    "\r\n",
  );
}

/** UTF-8 bytes as a Latin-1 string, because node writes header texts as Latin-1. */
function encoded(text: string): string {
  return PLAIN.test(text) ? text : Buffer.from(text).toString("latin1");
}

class NodeExchange implements Exchange {
  readonly method: Method;
  readonly path: string;
  readonly query: string;
  readonly trusted: boolean;
  open = true;
  readonly #handler: RequestHandler;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #watcher: ExchangeWatcher | null = null;
  /** Set while a body is being read: ends a body that arrives too slowly. */
  #pace: Alarm | null = null;
  #pacedBytes = 0;

  constructor(handler: RequestHandler, request: IncomingMessage, response: ServerResponse, trusted: boolean) {
    this.#handler = handler;
    this.#request = request;
    this.#response = response;
    this.trusted = trusted;
    this.method = request.method ?? "";
    const url = request.url ?? "";
    const mark = url.indexOf("?");
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? "" : url.slice(mark + 1);
  }

  handle(): void {
    // A queued response gets its socket only after the earlier responses, so its own `close` may never fire.
    this.#request.socket.on("close", this.#closed);
    // An error ends the connection; `close` follows.
    this.#response.on("error", () => undefined);
    this.#request.on("error", () => undefined);
    const refused = this.#refusedStatus();
    if (refused === null) this.#guard(() => this.#handler.request(this));
    else this.respond(refused, [], null, true);
  }

  /** node:http accepts unknown HTTP versions, and chunked bodies of HTTP/1.0 (RFC 9112, 6.1). */
  #refusedStatus(): number | null {
    const { httpVersion, headers } = this.#request;
    if (httpVersion === "1.1") return null;
    if (httpVersion !== "1.0") return 505;
    return headers["transfer-encoding"] === undefined ? null : 400;
  }

  header(name: string): string {
    const raw = this.#request.rawHeaders;
    for (let index = 0; index < raw.length; index += 2) {
      if (raw[index]?.toLowerCase() === name) return raw[index + 1] ?? "";
    }
    return "";
  }

  eachHeader(visit: HeaderVisitor): void {
    const raw = this.#request.rawHeaders;
    for (let index = 0; index < raw.length; index += 2) visit((raw[index] ?? "").toLowerCase(), raw[index + 1] ?? "");
  }

  headerList(): HeaderList {
    return this.#request.rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
  }

  isLocalPeer(): boolean {
    if (this.trusted) return true;
    return this.open && isLoopbackHost((this.#request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""));
  }

  watch(watcher: ExchangeWatcher): void {
    this.#watcher = watcher;
  }

  readBody(): void {
    this.#pace = createSystemAlarm();
    this.#setPace();
    this.#request.on("data", (piece: Buffer) => this.#take(piece));
    this.#request.on("end", () => {
      this.#pace?.clear();
      this.#passOn(NOTHING, true);
    });
  }

  #passOn(piece: Uint8Array, last: boolean): void {
    const watcher = this.#watcher;
    if (this.open && watcher !== null) this.#guard(() => this.#handler.body(this, watcher, piece, last));
  }

  respond(status: number, headers: HeaderList, body: string | Uint8Array | null, close = false): void {
    if (!this.open) return;
    // A second head would corrupt the response.
    if (this.#response.headersSent) {
      this.cut();
      return;
    }
    const written = headers.map(encoded);
    if (status !== 204 && status !== 304) written.push("content-length", String(body === null ? 0 : Buffer.byteLength(body)));
    if (close) {
      written.push("connection", "close");
      ENDING.add(this.#request.socket);
    }
    this.#response.writeHead(status, written);
    this.#endWith(body);
  }

  begin(status: number, headers: HeaderList, first: string | Uint8Array): boolean {
    if (!this.open) return false;
    this.#response.on("drain", () => this.#writable());
    this.#response.writeHead(status, headers.map(encoded));
    if (this.method === "HEAD") {
      this.#endWith(null);
      return false;
    }
    return this.write(first);
  }

  write(piece: string | Uint8Array): boolean {
    if (!this.open) return false;
    const taken = this.#response.write(piece);
    // Ends the connection unless bytes leave within IDLE_MS. A client that has read everything may stay idle.
    if (!taken) this.#request.socket.setTimeout(IDLE_MS);
    return taken;
  }

  end(): void {
    if (!this.open) return;
    this.#endWith(null);
  }

  cut(): void {
    if (!this.open) return;
    this.#finish();
    this.#request.socket.destroy();
  }

  #endWith(body: string | Uint8Array | null): void {
    this.#finish();
    const { socket } = this.#request;
    this.#response.end(body ?? undefined);
    // The system did not take all bytes: limit the client's time, as in `write`.
    if (socket.writableLength === 0) return;
    socket.setTimeout(IDLE_MS);
    this.#response.prependListener("finish", () => socket.setTimeout(0));
  }

  #finish(): void {
    this.open = false;
    this.#pace?.clear();
    this.#request.socket.off("close", this.#closed);
  }

  #take(piece: Buffer): void {
    this.#pacedBytes += piece.length;
    if (this.#pacedBytes >= BODY_PACE_BYTES && this.open) this.#setPace();
    this.#passOn(piece, false);
  }

  #setPace(): void {
    this.#pacedBytes = 0;
    this.#pace?.set(IDLE_MS * 1000, () => this.#request.socket.destroy());
  }

  readonly #closed = (): void => {
    if (!this.open) return;
    this.#finish();
    this.#guard(() => this.#watcher?.aborted());
  };

  #writable(): void {
    this.#request.socket.setTimeout(0);
    if (this.open) this.#guard(() => this.#watcher?.writable());
  }

  #guard(handle: () => void): void {
    try {
      handle();
    } catch (cause) {
      this.#handler.failed(this, cause);
    }
  }
}

class NodeTransport implements Transport {
  readonly #handler: RequestHandler;
  readonly #servers: Server[] = [];
  #path: string | null = null;
  #connections = 0;
  connectionsMax = Number.POSITIVE_INFINITY;

  constructor(handler: RequestHandler) {
    this.#handler = handler;
  }

  async listen(host: string, port: number): Promise<number> {
    const server = this.#server(false);
    const failure = await listening(server, { host, port, exclusive: true, backlog: BACKLOG });
    if (failure !== null) throw await listenError(host, port);
    this.#servers.push(server);
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }

  async listenUnix(path: string): Promise<void> {
    await checkSocketPath(path);
    // A socket left over by a killed server.
    rmSync(path, { force: true });
    const server = this.#server(true);
    const failure = await listening(server, { path, exclusive: true, backlog: BACKLOG });
    if (failure !== null) throw socketError(failure.code ?? "EINVAL", path);
    this.#servers.push(server);
    this.#path = path;
    chmodSync(path, SOCKET_MODE);
  }

  stopListening(): void {
    // Call the base class: close() of an HTTP server would end idle connections too.
    for (const server of this.#servers) if (server.listening) NetServer.prototype.close.call(server);
    if (this.#path !== null) rmSync(this.#path, { force: true });
    this.#path = null;
  }

  close(): void {
    this.stopListening();
    for (const server of this.#servers.splice(0)) {
      // Ends the interval that checks for incomplete heads.
      server.close();
      server.closeAllConnections();
    }
  }

  #server(trusted: boolean): Server {
    const options = {
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: IDLE_MS,
      keepAliveTimeout: IDLE_MS,
      connectionsCheckingInterval: CHECK_MS,
      // The gateway checks for the header itself, and then closes the connection so that later bytes are not read.
      requireHostHeader: false,
      // A whole request may take long; the body has a minimum rate.
      requestTimeout: 0,
    };
    const server = createServer(options, (request, response) => {
      if (!ENDING.has(request.socket)) new NodeExchange(this.#handler, request, response, trusted).handle();
    });
    return server.on("connection", (socket) => {
      // Each request waiting on a connection adds a listener.
      socket.setMaxListeners(0);
      this.#connected(socket, trusted);
    });
  }

  #connected(socket: Socket, trusted: boolean): void {
    this.#connections += 1;
    socket.once("close", () => {
      this.#connections -= 1;
    });
    if (this.#connections <= this.connectionsMax + (trusted ? UNIX_CONNECTIONS_EXTRA : 0)) return;
    ENDING.add(socket);
    socket.end(REFUSED, () => socket.destroy());
  }
}

interface Address {
  host?: string;
  port?: number;
  path?: string;
  exclusive: boolean;
  backlog: number;
}

/** Null when listening, else the error. */
function listening(server: Server, address: Address): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    server.once("error", resolve);
    server.listen(address, () => {
      server.off("error", resolve);
      resolve(null);
    });
  });
}

export function createNodeTransport(handler: RequestHandler): Transport {
  return new NodeTransport(handler);
}
