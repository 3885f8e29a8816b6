/**
 * A request that the gateway makes to itself in place of an HTTP request: it passes through reads and outstanding commands,
 * and its answer goes to the caller instead of a connection.
 */
import { MCP_ANSWER_BYTES_MAX } from "#protocol/limits";
import type { Exchange, ExchangeWatcher, HeaderList } from "../transport/transport-port.ts";

/**
 * cut: the request was given up although it may have been applied. left: the outer client has disconnected. too_large: the
 * answer of a read exceeds the memory allowed for it.
 */
export type InnerOutcome =
  | { kind: "answered"; status: number; body: string }
  | { kind: "cut" }
  | { kind: "left" }
  | { kind: "too_large" };

export class InnerExchange implements Exchange {
  readonly method = "POST";
  readonly path = "";
  readonly query = "";
  /** The outer request was already checked. */
  readonly trusted = true;
  open = true;
  readonly #local: boolean;
  readonly #settle: (outcome: InnerOutcome) => void;
  #watcher: ExchangeWatcher | null = null;
  /** An answer in parts: its status and the body so far. */
  #begun: { status: number; body: string } | null = null;

  constructor(local: boolean, settle: (outcome: InnerOutcome) => void) {
    this.#local = local;
    this.#settle = settle;
  }

  header(): string {
    return "";
  }

  eachHeader(): void {}

  headerList(): HeaderList {
    return [];
  }

  isLocalPeer(): boolean {
    return this.#local;
  }

  watch(watcher: ExchangeWatcher): void {
    this.#watcher = watcher;
  }

  readBody(): void {}

  respond(status: number, _headers: HeaderList, body: string | Uint8Array | null): void {
    this.#end({ kind: "answered", status, body: textOf(body) });
  }

  begin(status: number, _headers: HeaderList, first: string | Uint8Array): boolean {
    this.#begun = { status, body: "" };
    return this.write(first);
  }

  write(piece: string | Uint8Array): boolean {
    if (this.#begun === null) return false;
    this.#begun.body += textOf(piece);
    if (this.#begun.body.length > MCP_ANSWER_BYTES_MAX) this.#end({ kind: "too_large" });
    return this.open;
  }

  end(): void {
    if (this.#begun !== null) this.#end({ kind: "answered", ...this.#begun });
  }

  cut(): void {
    this.#end({ kind: "cut" });
  }

  /** The outer client disconnected. */
  leave(): void {
    if (!this.open) return;
    this.#end({ kind: "left" });
    this.#watcher?.aborted();
  }

  #end(outcome: InnerOutcome): void {
    if (!this.open) return;
    this.open = false;
    this.#settle(outcome);
  }
}

function textOf(body: string | Uint8Array | null): string {
  if (body === null || typeof body === "string") return body ?? "";
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}
