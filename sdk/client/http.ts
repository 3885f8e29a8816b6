/**
 * Requests of the client: the target, the retries, and the conversion of an answer to a value or an error. This file does not
 * depend on Node; a Peer transports the bytes.
 */

import { MillraceError, refusal } from "./error.ts";

/** The parts of an HTTP answer that the client uses. */
export interface Answer {
  /** The HTTP status. */
  status: number;
  /** The value of a header, null without it. */
  header(name: string): string | null;
  /** The body as text. */
  text(): Promise<string>;
  /** The body in the chunks that arrive; leaving the loop ends the connection. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** A request that a transport sends. */
export interface Outgoing {
  /** The HTTP method. */
  method: string;
  /** The headers of the request. */
  headers: Record<string, string>;
  /** The body, null without one. */
  body: string | null;
  /** Ends the request. */
  signal: AbortSignal;
}

/** A server that was found, with the transport to it. */
export interface Peer {
  /** Base address, also shown in errors. */
  url: string;
  /** Bearer token, null without one. */
  token: string | null;
  /** Sends a request to a path of the server and resolves to its answer. */
  send(path: string, request: Outgoing): Promise<Answer>;
}

export type Query = Readonly<Record<string, QueryValue | readonly string[] | Readonly<Record<string, QueryValue>>>>;

type QueryValue = string | number | boolean | null | undefined;

export interface Call {
  /** Query parameters; null and undefined are omitted, lists are joined with commas, `{ a: { b: 1 } }` is a.b=1. */
  query?: Query | undefined;
  body?: unknown;
  /** Whether the request may be resent when the connection broke before its answer; GET always may. */
  repeatable?: boolean;
  /** Makes a creation repeatable: for 24 hours the server returns the first answer again. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Ten seconds more than the server holds any request. */
const TIMEOUT_MS = 40_000;
/** Delays before the second, third and fourth attempt. */
const RETRY_WAITS_MS = [200, 1_000, 3_000];
/** A longer Retry-After is reported instead of followed. */
const RETRY_AFTER_MAX_MS = 10_000;
const REFUSED_CODES = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "EACCES"]);

export class Http {
  /** Parses JSON text. */
  readonly parse: (text: string) => unknown;
  readonly #find: () => Promise<Peer>;
  #peer: Promise<Peer> | null = null;

  constructor(find: () => Promise<Peer>, parse: (text: string) => unknown) {
    this.#find = find;
    this.parse = parse;
  }

  /** The server of this client; looked up once, and again after the connection was lost. */
  peer(): Promise<Peer> {
    this.#peer ??= this.#find();
    return this.#peer;
  }

  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
    return this.json<T>("GET", path, { query, signal });
  }

  /** @throws MillraceError for an answer of 400 or more and for every transport failure. */
  async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const text = await this.#text(method, path, call);
    // The types come from the server's schemas; checking each answer again would double the cost of a read.
    return (text === "" ? null : this.parse(text)) as T;
  }

  async #text(method: string, path: string, call: Call): Promise<string> {
    const repeatable = method === "GET" || call.repeatable === true || call.idempotencyKey !== undefined;
    for (let attempt = 0; ; attempt += 1) {
      const wait = RETRY_WAITS_MS[attempt];
      const timeout = AbortSignal.timeout(TIMEOUT_MS);
      const signal = call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]);
      try {
        const answer = await this.open(method, path, { ...call, signal });
        const text = await answer.text();
        if (answer.status < 400) return text;
        const after = retryAfterMs(answer);
        if (after === null || wait === undefined) throw refusal(method, path, answer.status, text);
        await pause(after, call.signal);
      } catch (error) {
        call.signal?.throwIfAborted();
        const failure = error instanceof MillraceError ? error : this.#failed(error, method, path, (await this.peer()).url);
        if (failure.reason === "unreachable" || failure.reason === "cut") this.forget();
        if (failure.reason !== "cut" || !repeatable || wait === undefined) throw failure;
        await pause(wait, call.signal);
      }
    }
  }

  /** Sends a request once and returns the answer with its body unread. Transport failures are MillraceErrors too. */
  async open(method: string, path: string, call: Call & { signal: AbortSignal }): Promise<Answer> {
    const peer = await this.peer().catch((error: unknown) => {
      this.forget();
      throw error;
    });
    const headers: Record<string, string> = {};
    if (call.body !== undefined) headers["content-type"] = "application/json";
    if (peer.token !== null) headers["authorization"] = `Bearer ${peer.token}`;
    if (call.idempotencyKey !== undefined) headers["idempotency-key"] = call.idempotencyKey;
    const body = call.body === undefined ? null : JSON.stringify(call.body);
    try {
      return await peer.send(path + queryText(call.query), { method, headers, body, signal: call.signal });
    } catch (error) {
      throw this.#failed(error, method, path, peer.url);
    }
  }

  /** The next request looks the server up again: it may have restarted at another address. */
  forget(): void {
    this.#peer = null;
  }

  #failed(error: unknown, method: string, path: string, url: string): MillraceError {
    if (error instanceof MillraceError) return error;
    const { name, code } = describe(error);
    if (name === "TimeoutError" || name === "AbortError") {
      return new MillraceError(`${url} did not answer ${method} ${path} in time`, {
        reason: "timeout",
        status: 0,
        method,
        path,
        cause: error,
      });
    }
    const unreachable = code !== null && REFUSED_CODES.has(code);
    const message = unreachable
      ? `no server answers at ${url} (${code})`
      : `the connection to ${url} broke${code === null ? "" : ` (${code})`}`;
    return new MillraceError(message, { reason: unreachable ? "unreachable" : "cut", status: 0, method, path, cause: error });
  }
}

/** A peer reached with the platform's own fetch, in Node and in browsers. */
export function fetchPeer(url: string, token: string | null): Peer {
  const base = url.replace(/\/+$/, "");
  return {
    url: base,
    token,
    async send(path, request) {
      const response = await fetch(base + path, { ...request, redirect: "error" });
      return {
        status: response.status,
        header: (name) => response.headers.get(name),
        text: () => response.text(),
        chunks: () => readBody(response),
      };
    },
  };
}

/** Not every browser can iterate a body, so a reader is used. */
async function* readBody(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Resolves after a delay, or rejects as soon as the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

function retryAfterMs(answer: Answer): number | null {
  const header = answer.status === 503 ? answer.header("retry-after") : null;
  if (header === null || !/^\d+$/.test(header.trim())) return null;
  const ms = Number(header) * 1000;
  return ms <= RETRY_AFTER_MAX_MS ? ms : null;
}

function queryText(query: Query | undefined): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === null || value === undefined) continue;
    if (typeof value !== "object") pairs.set(name, String(value));
    else if (isList(value)) pairs.set(name, value.join(","));
    else for (const [key, part] of Object.entries(value)) if (part != null) pairs.set(`${name}.${key}`, String(part));
  }
  return pairs.size === 0 ? "" : `?${pairs}`;
}

/** Array.isArray does not tell a readonly list from a record. */
function isList(value: readonly string[] | object): value is readonly string[] {
  return Array.isArray(value);
}

/** fetch hides the system's error code in `cause`, and for several addresses in a list below `cause`. */
function describe(error: unknown): { name: string; code: string | null } {
  if (!(error instanceof Error)) return { name: "", code: null };
  const nested = error instanceof AggregateError ? error.errors[0] : error.cause;
  const code =
    "code" in error && typeof error.code === "string" ? error.code : nested === undefined ? null : describe(nested).code;
  return { name: error.name, code };
}
