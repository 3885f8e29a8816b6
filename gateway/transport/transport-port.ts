/**
 * The port between the gateway and an HTTP server.
 *
 * Contains everything the gateway needs of a server library, so that a second implementation (node-transport.ts) can replace
 * the first where that has no binary. Objects instead of callbacks: one exchange and one watcher per request, no closures.
 */

import { refuse } from "#protocol/errors";

/** Flat: name, value; repeated. Names in lower case. */
export type HeaderList = readonly string[];

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | (string & {});

export type HeaderVisitor = (name: string, value: string) => void;

/** Receives the events of an exchange after its head was handled. */
export interface ExchangeWatcher {
  /** A piece of the body. The bytes are valid only during the call. */
  data(bytes: Uint8Array, last: boolean): void;
  /** The client disconnected before the answer was complete; nothing more can be sent. */
  aborted(): void;
  /** The connection has taken everything, after a write that returned false. */
  writable(): void;
}

/** One request and its answer. Everything that sends is a no-op once the exchange is closed. */
export interface Exchange {
  readonly method: Method;
  /** As sent: not decoded, without the query. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  /** True for requests over the Unix socket, which file permission protects. */
  readonly trusted: boolean;
  /** False once answered, cut, or left by the client. */
  readonly open: boolean;
  /** The first value of a header, "" if absent. Only while the head is being handled. */
  header(name: string): string;
  /** Visits every header, in order, with its name in lower case. Only while the head is being handled. */
  eachHeader(visit: HeaderVisitor): void;
  /** Every header, in order. Only while the head is being handled. */
  headerList(): HeaderList;
  /** True when the peer is on this host. Only while the exchange is open. */
  isLocalPeer(): boolean;
  /** Sets the watcher for later events, replacing the former watcher; without a watcher, a body is read and dropped. */
  watch(watcher: ExchangeWatcher): void;
  /** Starts reading the body. Only while the head is being handled. */
  readBody(): void;
  /** Sends a whole answer. With `close`, the connection ends after it. HEAD gets only the head, with the length. */
  respond(status: number, headers: HeaderList, body: string | Uint8Array | null, close?: boolean): void;
  /**
   * Starts an answer of unknown length with its first piece; false: wait for `writable`. `filler` is text without meaning to
   * the client: a server library that completes a piece only when the next begins sends the filler after each piece, so that
   * no piece waits. For HEAD, sends only the head, without a length, and ends the answer.
   */
  begin(status: number, headers: HeaderList, first: string | Uint8Array, filler: string): boolean;
  /** Sends a further piece; false: wait for `writable`. */
  write(piece: string | Uint8Array): boolean;
  /** Ends the answer. */
  end(): void;
  /** Cuts the connection without an answer. */
  cut(): void;
}

/** The gateway's handling of requests. A throw of `request` or of a watcher is passed to `failed`. */
export interface RequestHandler {
  request(exchange: Exchange): void;
  /** A piece of a body arrived for the watcher of an exchange. */
  body(exchange: Exchange, watcher: ExchangeWatcher, piece: Uint8Array, last: boolean): void;
  failed(exchange: Exchange, cause: unknown): void;
}

/** The response to a connection above the maximum, sent before anything of it is read. */
export const CONNECTION_REFUSED = {
  status: 503,
  headers: ["content-type", "application/json", "retry-after", "1"],
  body: refuse("too_many_connections").body(),
} as const;
/** Connections that the Unix socket accepts beyond the maximum, for the server's operator. */
export const UNIX_CONNECTIONS_EXTRA = 32;

export interface Transport {
  /** Maximum number of connections over all listeners. Set before the first listener opens. */
  connectionsMax: number;
  /** Listens on TCP, exclusively; port 0 chooses one. Returns the port; throws a ListenError. */
  listen(host: string, port: number): Promise<number>;
  /** Listens on a Unix socket that only its owner can open; throws a ListenError if another server answers there. */
  listenUnix(path: string): Promise<void>;
  /** Accepts no further connections; open connections stay. */
  stopListening(): void;
  /** Cuts open connections and releases the event loop. */
  close(): void;
}

/** The address is not available: `code` is the system's (EADDRINUSE, EACCES, EADDRNOTAVAIL ...). */
export class ListenError extends Error {
  override name = "ListenError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
