/** A request of this process to its own gateway: without a connection, through the same routes, reads and commands. */
import type { Exchange, ExchangeWatcher, HeaderList, HeaderVisitor } from "../transport/transport-port.ts";

export interface LocalRequest {
  method: string;
  /** Including the query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string | null;
  signal: AbortSignal;
}

export interface LocalAnswer {
  status: number;
  header(name: string): string | null;
  text(): Promise<string>;
  /** The body as it arrives; leaving the loop ends the request. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Sends a request to a gateway. @throws the signal's reason, or an Error where the connection would have been cut */
export function ask(serve: (exchange: Exchange) => void, request: LocalRequest): Promise<LocalAnswer> {
  request.signal.throwIfAborted();
  const exchange = new LocalExchange(request);
  serve(exchange);
  return exchange.answer;
}

class LocalExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Code in this process may do whatever its user may. */
  readonly trusted = true;
  open = true;
  readonly answer: Promise<LocalAnswer>;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #body: Uint8Array;
  readonly #answered = Promise.withResolvers<LocalAnswer>();
  readonly #stopWaiting: () => void;
  #watcher: ExchangeWatcher | null = null;
  readonly #pieces: Uint8Array[] = [];
  #begun = false;
  #ended = false;
  #failure: Error | null = null;
  #wake: () => void = () => undefined;

  constructor({ method, path, headers, body, signal }: LocalRequest) {
    const mark = path.indexOf("?");
    this.method = method;
    this.path = mark === -1 ? path : path.slice(0, mark);
    this.query = mark === -1 ? "" : path.slice(mark + 1);
    this.#body = Buffer.from(body ?? "");
    this.#headers = new Map([
      ...Object.entries(headers),
      ...(body === null ? [] : [["content-length", `${this.#body.length}`] as const]),
    ]);
    this.answer = this.#answered.promise;
    const leave = (): void => this.#leave(signal.reason instanceof Error ? signal.reason : new Error("the request was given up"));
    signal.addEventListener("abort", leave, { once: true });
    this.#stopWaiting = () => signal.removeEventListener("abort", leave);
  }

  header(name: string): string {
    return this.#headers.get(name) ?? "";
  }

  eachHeader(visit: HeaderVisitor): void {
    for (const [name, value] of this.#headers) visit(name, value);
  }

  headerList(): HeaderList {
    return [...this.#headers].flat();
  }

  isLocalPeer(): boolean {
    return true;
  }

  watch(watcher: ExchangeWatcher): void {
    this.#watcher = watcher;
  }

  readBody(): void {
    // As on a connection, the body arrives after the head was handled.
    setImmediate(() => {
      if (this.open) this.#watcher?.data(this.#body, true);
    });
  }

  respond(status: number, headers: HeaderList, body: string | Uint8Array | null): void {
    if (!this.open) return;
    // A second answer cannot follow a part of the first.
    if (this.#begun) {
      this.cut();
      return;
    }
    this.#start(status, headers);
    if (body !== null && this.method !== "HEAD") this.#take(body);
    this.end();
  }

  begin(status: number, headers: HeaderList, first: string | Uint8Array): boolean {
    if (!this.open) return false;
    this.#begun = true;
    this.#start(status, headers);
    if (this.method === "HEAD") {
      this.end();
      return false;
    }
    return this.write(first);
  }

  write(piece: string | Uint8Array): boolean {
    if (!this.open) return false;
    this.#take(piece);
    return true;
  }

  end(): void {
    if (!this.open) return;
    this.open = false;
    this.#finish();
  }

  cut(): void {
    if (!this.open) return;
    this.open = false;
    this.#fail(new Error("the request was cut"));
  }

  /** The caller no longer waits for the answer. */
  #leave(reason: Error): void {
    if (!this.open) return;
    this.open = false;
    this.#fail(reason);
    this.#watcher?.aborted();
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#answered.reject(error);
    this.#finish();
  }

  #finish(): void {
    this.#ended = true;
    this.#stopWaiting();
    this.#wake();
  }

  #take(piece: string | Uint8Array): void {
    this.#pieces.push(Buffer.from(piece));
    this.#wake();
  }

  #start(status: number, headers: HeaderList): void {
    const named = new Map<string, string>();
    for (let index = 0; index < headers.length; index += 2) named.set(headers[index] ?? "", headers[index + 1] ?? "");
    this.#answered.resolve({
      status,
      header: (name) => named.get(name) ?? null,
      text: async () => {
        const pieces: Uint8Array[] = [];
        for await (const piece of this.#read()) pieces.push(piece);
        return Buffer.concat(pieces).toString();
      },
      chunks: () => this.#read(),
    });
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) yield piece;
        else if (this.#failure !== null) throw this.#failure;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#leave(new Error("the answer was not read to its end"));
    }
  }
}
