/**
 * A request that the gateway puts to itself, in the place of one that came over HTTP: it takes the same way through reads and
 * outstanding commands, and its answer goes to whoever asked instead of a connection.
 */
import { MCP_ANSWER_BYTES_MAX } from "#protocol/limits";
import type { Exchange, ExchangeWatcher, HeaderList } from "./transport-port.ts";

/**
 * What became of it. cut: it was given up although it may have been applied. left: nobody waits for it any more. too_large: a
 * read has more to say than is held in memory for it.
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
  /** Who asks was checked where the outer request came in. */
  readonly trusted = true;
  open = true;
  readonly #local: boolean;
  readonly #settle: (outcome: InnerOutcome) => void;
  #watcher: ExchangeWatcher | null = null;
  /** Of an answer in parts: its status and what there is of it. */
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

  /** The outer client went away. */
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
