/**
 * The port between the gateway and an HTTP server.
 *
 * Everything the gateway asks of a server library is here, so that a second implementation (on node:http, say) can stand in
 * where the first one has no binary. Objects instead of callbacks: one exchange and one watcher per request, no closures.
 */

import { refuse } from "#protocol/errors";

/** Flat: name, value; repeated. Names in lower case. */
export type HeaderList = readonly string[];

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | (string & {});

export type HeaderVisitor = (name: string, value: string) => void;

/** What happens to an exchange after its head was handled. */
export interface ExchangeWatcher {
  /** A piece of the body. The bytes are valid only during the call. */
  data(bytes: Uint8Array, last: boolean): void;
  /** The client went away before the answer was complete; nothing can be sent any more. */
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
  /** True when it came in over the Unix socket, which is trusted by file permission. */
  readonly trusted: boolean;
  /** False once answered, cut, or left by the client. */
  readonly open: boolean;
  /** The first value of a header, "" without one. Only while the head is being handled. */
  header(name: string): string;
  /** Calls for every header, in order, with its name in lower case. Only while the head is being handled. */
  eachHeader(visit: HeaderVisitor): void;
  /** Every header, in order. Only while the head is being handled. */
  headerList(): HeaderList;
  /** True when the peer is on this host. Only while the exchange is open. */
  isLocalPeer(): boolean;
  /** Who hears what follows; without a watcher, a body is read and dropped. Replaces the former watcher. */
  watch(watcher: ExchangeWatcher): void;
  /** Starts reading the body. Only while the head is being handled. */
  readBody(): void;
  /** Sends a whole answer. With `close`, the connection ends after it. HEAD gets the head alone, with the length. */
  respond(status: number, headers: HeaderList, body: string | Uint8Array | null, close?: boolean): void;
  /**
   * Starts an answer without a known length, with its first piece; false: wait for `writable`. `filler` means nothing to the
   * client: a server library that ends a piece only when the next one begins sends it after each, so that no piece waits.
   * HEAD gets the head alone, without a length, which ends it.
   */
  begin(status: number, headers: HeaderList, first: string | Uint8Array, filler: string): boolean;
  /** Continues it; false: wait for `writable`. */
  write(piece: string | Uint8Array): boolean;
  /** Ends it. */
  end(): void;
  /** Cuts the connection without an answer. */
  cut(): void;
}

/** What the gateway does with requests. A throw of `request` or of a watcher is handed to `failed`. */
export interface RequestHandler {
  request(exchange: Exchange): void;
  /** A piece of a body arrived for the watcher of an exchange. */
  body(exchange: Exchange, watcher: ExchangeWatcher, piece: Uint8Array, last: boolean): void;
  failed(exchange: Exchange, cause: unknown): void;
}

/** What a connection gets that is one too many, before anything of it is read. */
export const CONNECTION_REFUSED = {
  status: 503,
  headers: ["content-type", "application/json", "retry-after", "1"],
  body: refuse("too_many_connections").body(),
} as const;
/** Beyond the bound the Unix socket still takes so many, for whoever looks after the server. */
export const UNIX_CONNECTIONS_EXTRA = 32;

export interface Transport {
  /** Connections served at one time, on all listeners together. Set before the first listens. */
  connectionsMax: number;
  /** Listens on TCP, alone on its port; 0 chooses one. Returns the port; throws a ListenError. */
  listen(host: string, port: number): Promise<number>;
  /** Listens on a Unix socket that only its owner can open; throws a ListenError when another server answers there. */
  listenUnix(path: string): Promise<void>;
  /** Accepts no further connections; those that are open stay. */
  stopListening(): void;
  /** Cuts what is still open and lets go of the event loop. */
  close(): void;
}

/** The address cannot be had: `code` is the system's (EADDRINUSE, EACCES, EADDRNOTAVAIL ...). */
export class ListenError extends Error {
  override name = "ListenError";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
