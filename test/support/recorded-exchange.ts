/** An exchange in memory: records what was sent and lets a test act as the client. */
import type { Exchange, ExchangeWatcher, HeaderList, HeaderVisitor } from "#gateway/transport/transport-port";

export interface RecordedRequest {
  method?: string;
  path?: string;
  query?: string;
  headers?: Record<string, string>;
  trusted?: boolean;
}

export class RecordedExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly trusted: boolean;
  open = true;
  status = 0;
  headers: HeaderList = [];
  body: string | null = null;
  closed = false;
  wasCut = false;
  ended = false;
  /** Pieces of a streamed answer. */
  readonly pieces: string[] = [];
  /** The result of `write`: false simulates a connection that takes no more. */
  takes = true;
  readonly #headers: Record<string, string>;
  #watcher: ExchangeWatcher | null = null;

  constructor(request: RecordedRequest = {}) {
    this.method = request.method ?? "GET";
    this.path = request.path ?? "/";
    this.query = request.query ?? "";
    this.trusted = request.trusted ?? false;
    this.#headers = request.headers ?? {};
  }

  header(name: string): string {
    return this.#headers[name] ?? "";
  }

  eachHeader(visit: HeaderVisitor): void {
    for (const [name, value] of Object.entries(this.#headers)) visit(name, value);
  }

  headerList(): HeaderList {
    return Object.entries(this.#headers).flat();
  }

  isLocalPeer(): boolean {
    return true;
  }

  watch(watcher: ExchangeWatcher): void {
    this.#watcher = watcher;
  }

  readBody(): void {}

  respond(status: number, headers: HeaderList, body: string | Uint8Array | null, close = false): void {
    if (!this.open) return;
    this.open = false;
    this.status = status;
    this.headers = headers;
    this.body = body === null ? null : Buffer.from(body).toString();
    this.closed = close;
  }

  begin(status: number, headers: HeaderList, first: string | Uint8Array, _filler: string): boolean {
    this.status = status;
    this.headers = headers;
    return this.write(first);
  }

  write(piece: string | Uint8Array): boolean {
    if (this.open) this.pieces.push(Buffer.from(piece).toString());
    return this.takes;
  }

  end(): void {
    this.open = false;
    this.ended = true;
  }

  cut(): void {
    this.open = false;
    this.wasCut = true;
  }

  /** The client sends a piece of its body. */
  send(text: string | Uint8Array, last: boolean): void {
    if (this.open) this.#watcher?.data(Buffer.from(text), last);
  }

  /** The client disconnects. */
  leave(): void {
    if (!this.open) return;
    this.open = false;
    this.#watcher?.aborted();
  }

  /** The connection takes more again. */
  drain(): void {
    this.takes = true;
    this.#watcher?.writable();
  }

  json(): unknown {
    return JSON.parse(this.body ?? "null");
  }
}
