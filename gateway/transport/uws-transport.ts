/**
 * The transport port on uWebSockets.js: the only file that uses this library.
 *
 * Facts about the library that this file relies on: a request object is dead once its handler has returned; a response must
 * be corked; a response must not be touched after its client has disconnected; two apps share a port silently unless one
 * listens exclusively; a thread that ends while an app is open ends the whole process (so `close` comes first).
 */

import * as uws from "uWebSockets.js";
import { chmodSync, rmSync } from "node:fs";
import {
  checkSocketPath,
  freePort,
  isLoopbackAddress,
  isLoopbackHost,
  listenError,
  SOCKET_MODE,
  socketError,
} from "./address.ts";
import { statusLine } from "./status-lines.ts";
import {
  CONNECTION_REFUSED,
  type Exchange,
  type ExchangeWatcher,
  type HeaderList,
  type HeaderVisitor,
  ListenError,
  type Method,
  type RequestHandler,
  type Transport,
  UNIX_CONNECTIONS_EXTRA,
} from "./transport-port.ts";

/** LIBUS_LISTEN_EXCLUSIVE_PORT, which the package declares only as a type. */
const EXCLUSIVE = 1;
/** Another process can take a chosen port before it is listened on; rarely twice. */
const CHOOSE_ATTEMPTS = 10;

/** The library accepts options after host and port, but its types declare that only without a host. */
type ListenWithHost = (
  host: string,
  port: number,
  options: number,
  listening: (socket: uws.us_listen_socket | false) => void,
) => unknown;

const METHODS: Readonly<Record<string, Method>> = {
  get: "GET",
  head: "HEAD",
  post: "POST",
  put: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  options: "OPTIONS",
};

/** The answer being corked: module state avoids a closure per answer. */
const corked: {
  exchange: UwsExchange | null;
  status: number;
  headers: HeaderList;
  body: string | Uint8Array | null;
  close: boolean;
} = { exchange: null, status: 0, headers: [], body: null, close: false };

function writeCorked(): void {
  corked.exchange?.writeWhole(corked.status, corked.headers, corked.body, corked.close);
}

/** The visitor of the headers being read; module state avoids a closure per request. */
const visited: { exchange: UwsExchange | null; visit: HeaderVisitor } = { exchange: null, visit: () => undefined };

function visitHeader(name: string, value: string): void {
  if (name === "transfer-encoding") visited.exchange?.endConnection();
  visited.visit(name, value);
}

/** Where a request arrived: loopback listeners can be reached from this host only. */
type ListenerKind = "unix" | "loopback" | "network";

/** The wire text of a list after its first name. Most lists are constants. */
const RESTS = new WeakMap<HeaderList, string>();

/**
 * The library writes names and values unchanged, so a single call, which costs as much as its whole text, can write a whole
 * list.
 */
function restOf(headers: HeaderList): string {
  const known = RESTS.get(headers);
  if (known !== undefined) return known;
  let rest = headers[1] ?? "";
  for (let index = 2; index < headers.length; index += 2) rest += `\r\n${headers[index]}: ${headers[index + 1]}`;
  RESTS.set(headers, rest);
  return rest;
}

class UwsExchange implements Exchange {
  readonly method: Method;
  readonly path: string;
  readonly query: string;
  readonly trusted: boolean;
  open = true;
  readonly #handler: RequestHandler;
  readonly #listener: ListenerKind;
  readonly #response: uws.HttpResponse;
  #request: uws.HttpRequest | null;
  #watcher: ExchangeWatcher | null = null;
  #begun = false;
  #endsConnection = false;
  /** Sends the response after which the connection ends; null once sent. */
  #last: (() => void) | null = null;
  /** The library sends the line break that ends a chunk with the next chunk, and strict clients wait for it. */
  #filler = "";

  constructor(handler: RequestHandler, response: uws.HttpResponse, request: uws.HttpRequest, listener: ListenerKind) {
    this.#handler = handler;
    this.#listener = listener;
    this.#response = response;
    this.#request = request;
    const method = request.getMethod();
    this.method = METHODS[method] ?? method.toUpperCase();
    this.path = request.getUrl();
    this.query = request.getQuery();
    this.trusted = listener === "unix";
  }

  /** Handles the head; afterwards the request object must not be used. */
  handle(): void {
    try {
      this.#handler.request(this);
    } catch (cause) {
      this.#handler.failed(this, cause);
    }
    this.#request = null;
    if (this.open || this.#last !== null) this.#response.onAborted(() => this.#aborted());
  }

  header(name: string): string {
    return this.#request === null ? "" : this.#request.getHeader(name);
  }

  eachHeader(visit: HeaderVisitor): void {
    visited.exchange = this;
    visited.visit = visit;
    this.#request?.forEach(visitHeader);
    visited.exchange = null;
  }

  /**
   * Ends the connection with the response: the library accepts invalid ends of chunks, so bytes after a chunked body may be
   * part of that body.
   */
  endConnection(): void {
    this.#endsConnection = true;
  }

  headerList(): HeaderList {
    const list: string[] = [];
    this.#request?.forEach((name, value) => {
      list.push(name, value);
    });
    return list;
  }

  isLocalPeer(): boolean {
    // Asking for the address costs a system call; on a loopback listener the answer is known.
    if (this.#listener !== "network") return true;
    return this.open && isLoopbackAddress(new Uint8Array(this.#response.getRemoteAddress()));
  }

  watch(watcher: ExchangeWatcher): void {
    this.#watcher = watcher;
  }

  readBody(): void {
    this.#response.onData((chunk, last) => {
      if (!this.open) return;
      try {
        if (this.#watcher !== null) this.#handler.body(this, this.#watcher, new Uint8Array(chunk), last);
      } catch (cause) {
        this.#handler.failed(this, cause);
      }
    });
  }

  respond(status: number, headers: HeaderList, body: string | Uint8Array | null, close = false): void {
    if (!this.open) return;
    // A second head would corrupt the response.
    if (this.#begun) {
      this.cut();
      return;
    }
    this.open = false;
    if (close || this.#endsConnection) this.#respondLast(status, headers, body);
    else this.#send(status, headers, body, false);
  }

  /**
   * Responds after the library has read all bytes that arrived with this request. After an earlier response, the library
   * would handle later bytes as further requests; this way such a request finds this one unanswered, and the library closes
   * the connection.
   */
  #respondLast(status: number, headers: HeaderList, body: string | Uint8Array | null): void {
    const kept = typeof body === "string" || body === null ? body : body.slice();
    this.#last = () => this.#send(status, headers, kept, true);
    setImmediate(() => {
      this.#last?.();
      this.#last = null;
    });
  }

  #send(status: number, headers: HeaderList, body: string | Uint8Array | null, close: boolean): void {
    corked.exchange = this;
    corked.status = status;
    corked.headers = headers;
    corked.body = body;
    corked.close = close;
    this.#response.cork(writeCorked);
    corked.exchange = null;
    corked.body = null;
  }

  writeWhole(status: number, headers: HeaderList, body: string | Uint8Array | null, close: boolean): void {
    const response = this.#response;
    this.#writeHead(status, headers);
    const bodiless = this.method === "HEAD" || status === 204 || status === 304;
    if (close) {
      // `endWithoutBody` closes only when it writes a length.
      response.end(bodiless ? "" : (body ?? ""), true);
    } else if (this.method === "HEAD") {
      response.writeHeader("content-length", String(body === null ? 0 : Buffer.byteLength(body)));
      response.endWithoutBody();
    } else if (bodiless) {
      response.endWithoutBody();
    } else {
      response.end(body ?? "");
    }
  }

  begin(status: number, headers: HeaderList, first: string | Uint8Array, filler: string): boolean {
    if (!this.open) return false;
    if (this.method === "HEAD") {
      this.open = false;
      this.#response.cork(() => {
        this.#writeHead(status, headers);
        this.#response.endWithoutBody();
      });
      return false;
    }
    this.#begun = true;
    this.#filler = filler;
    this.#response.onWritable(() => {
      this.#writable();
      return true;
    });
    let taken = false;
    this.#response.cork(() => {
      this.#writeHead(status, headers);
      this.#response.write(first);
      taken = this.#response.write(filler);
    });
    return taken;
  }

  write(piece: string | Uint8Array): boolean {
    if (!this.open) return false;
    let taken = false;
    this.#response.cork(() => {
      this.#response.write(piece);
      taken = this.#response.write(this.#filler);
    });
    return taken;
  }

  end(): void {
    if (!this.open) return;
    this.open = false;
    this.#response.cork(() => this.#response.end(undefined, this.#endsConnection));
  }

  cut(): void {
    if (!this.open) return;
    this.open = false;
    this.#response.close();
  }

  #writeHead(status: number, headers: HeaderList): void {
    const response = this.#response;
    response.writeStatus(statusLine(status));
    const [name] = headers;
    if (name !== undefined) response.writeHeader(name, restOf(headers));
  }

  #aborted(): void {
    this.#last = null;
    if (!this.open) return;
    this.open = false;
    try {
      this.#watcher?.aborted();
    } catch (cause) {
      this.#handler.failed(this, cause);
    }
  }

  /** The library sends its buffered bytes only when more is written, and calls again when the system takes more. */
  #writable(): void {
    if (!this.open || !this.#response.write(this.#filler)) return;
    try {
      this.#watcher?.writable();
    } catch (cause) {
      this.#handler.failed(this, cause);
    }
  }
}

class UwsTransport implements Transport {
  readonly #handler: RequestHandler;
  readonly #apps: uws.TemplatedApp[] = [];
  readonly #sockets: uws.us_listen_socket[] = [];
  #path: string | null = null;
  #connections = 0;
  connectionsMax = Number.POSITIVE_INFINITY;

  constructor(handler: RequestHandler) {
    this.#handler = handler;
  }

  async listen(host: string, port: number): Promise<number> {
    if (port !== 0) {
      if (this.#listenOn(host, port)) return port;
      throw await listenError(host, port);
    }
    // A port chosen by the library cannot be listened on again for a minute after connections were closed from our side (the
    // library sets SO_REUSEADDR for given ports only). So choose a free port first.
    for (let attempt = 0; attempt < CHOOSE_ATTEMPTS; attempt += 1) {
      const free = await freePort(host);
      if (this.#listenOn(host, free)) return free;
    }
    throw new ListenError("EADDRINUSE", `cannot listen on ${host}: no port stayed free long enough to be taken`);
  }

  async listenUnix(path: string): Promise<void> {
    // The library removes any file at the path: only a socket without a server may be removed.
    await checkSocketPath(path);
    const app = this.#app("unix");
    let socket: uws.us_listen_socket | false = false;
    app.listen_unix((listening: uws.us_listen_socket | false) => {
      socket = listening;
    }, path);
    if (socket === false) {
      app.close();
      throw socketError("EINVAL", path);
    }
    this.#apps.push(app);
    this.#sockets.push(socket);
    this.#path = path;
    chmodSync(path, SOCKET_MODE);
  }

  stopListening(): void {
    for (const socket of this.#sockets.splice(0)) uws.us_listen_socket_close(socket);
    if (this.#path !== null) rmSync(this.#path, { force: true });
    this.#path = null;
  }

  close(): void {
    this.stopListening();
    for (const app of this.#apps.splice(0)) app.close();
  }

  /**
   * A connection was opened or has ended. Every connection is accepted, because the system would report a pending connection
   * again and again.
   */
  #connected(response: uws.HttpResponse, by: number, kind: ListenerKind): void {
    this.#connections += by;
    const max = this.connectionsMax + (kind === "unix" ? UNIX_CONNECTIONS_EXTRA : 0);
    if (by < 0 || this.#connections <= max) return;
    const { status, headers, body } = CONNECTION_REFUSED;
    response.cork(() => {
      response.writeStatus(statusLine(status));
      for (let index = 0; index < headers.length; index += 2)
        response.writeHeader(headers[index] ?? "", headers[index + 1] ?? "");
      response.end(body, true);
    });
  }

  #listenOn(host: string, port: number): boolean {
    const app = this.#app(isLoopbackHost(host) ? "loopback" : "network");
    let socket: uws.us_listen_socket | false = false;
    (app.listen as unknown as ListenWithHost).call(app, host, port, EXCLUSIVE, (listening) => {
      socket = listening;
    });
    if (socket === false) {
      app.close();
      return false;
    }
    this.#apps.push(app);
    this.#sockets.push(socket);
    return true;
  }

  #app(kind: ListenerKind): uws.TemplatedApp {
    const app = uws.App().filter((response, by) => this.#connected(response, by, kind));
    return app.any("/*", (response, request) => new UwsExchange(this.#handler, response, request, kind).handle());
  }
}

export function createUwsTransport(handler: RequestHandler): Transport {
  return new UwsTransport(handler);
}
