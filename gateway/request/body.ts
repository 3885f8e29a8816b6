/**
 * Request bodies, counted while they arrive, because uWebSockets.js has no limit of its own.
 *
 * Each piece takes memory from the budget shared by all bodies; the receiver of the whole body returns that memory.
 */
import { isUtf8 } from "node:buffer";
import { refuse } from "#protocol/errors";
import type { Exchange, ExchangeWatcher } from "../transport/transport-port.ts";
import type { BodyMemory } from "./body-budget.ts";
import { replyRefusal } from "./reply.ts";

/**
 * After a refusal, an announced body up to this length is read and dropped, so that the client sees the response instead of a
 * reset.
 */
const DROPPED_BYTES_MAX = 256 * 1024 * 1024;

/** Values from the head of a request, kept until the body is complete, because headers cannot be read later. */
export interface RequestHead {
  /** The id in the path, 0 without one. */
  target: number;
  /** The decoded name in the path, empty without one. */
  name: string;
  /** The Idempotency-Key, empty without one. */
  key: string;
  /** Number of rules in the chain that led to the request. */
  ruleDepth: number;
  /** The header traceparent; absent where the route takes none, and without a valid one. */
  traceparent?: string;
  /** How long the answer to a creation waits for the end of the run, in microseconds; absent without waiting. */
  endWaitUs?: number;
}

/** Receives a whole body as text, and takes over its memory. */
export interface BodyTaker {
  take(exchange: Exchange, head: RequestHead, text: string, bytes: number): void;
  /** Bodies longer than this go to `takeLarge` as bytes. */
  readonly largeAbove?: number;
  takeLarge?(exchange: Exchange, head: RequestHead, body: SharedArrayBuffer, bytes: number): void;
  /** Answers a body that is not valid text; without this method, 400. */
  unreadable?(exchange: Exchange, why: string): void;
  /** Answers when the memory budget is used up; without this method, 503. */
  busy?(exchange: Exchange): void;
}

/** True for application/json, with or without parameters. */
export function isJson(contentType: string): boolean {
  if (contentType === "application/json") return true;
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase() === "application/json";
}

/** True when the request announces a body. Call only while the head is being handled. */
export function hasBody(exchange: Exchange): boolean {
  const length = exchange.header("content-length");
  return length === "" ? exchange.header("transfer-encoding") !== "" : length !== "0";
}

/** Receives a whole body as bytes, and takes over its memory. The buffer belongs to the taker. */
export interface RawBodyTaker {
  takeRaw(exchange: Exchange, head: RequestHead, body: Uint8Array<ArrayBuffer>, bytes: number): void;
}

/** Reads one body; one object per request instead of closures in the handlers. */
export class BodyReader implements ExchangeWatcher {
  readonly #exchange: Exchange;
  readonly #memory: BodyMemory;
  readonly #taker: BodyTaker | RawBodyTaker;
  readonly #head: RequestHead;
  readonly #bytesMax: number;
  #chunks: Buffer[] | null = null;
  #bytes = 0;
  #done = false;

  constructor(exchange: Exchange, memory: BodyMemory, taker: BodyTaker | RawBodyTaker, head: RequestHead, bytesMax: number) {
    this.#exchange = exchange;
    this.#memory = memory;
    this.#taker = taker;
    this.#head = head;
    this.#bytesMax = bytesMax;
  }

  /** Starts reading, unless the announced length exceeds the limit. */
  start(): void {
    const announced = Number(this.#exchange.header("content-length"));
    if (announced > this.#bytesMax) {
      replyRefusal(this.#exchange, refuse("body_too_large", this.#bytesMax), announced > DROPPED_BYTES_MAX);
      return;
    }
    if (!this.#memory.hasRoom(announced)) {
      this.#replyBusy();
      return;
    }
    this.#exchange.watch(this);
    this.#exchange.readBody();
  }

  data(piece: Uint8Array, last: boolean): void {
    if (this.#done) return;
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) {
      this.#refuse(piece.length, "body_too_large");
      return;
    }
    if (!this.#memory.takeBytes(piece.length, this.#bytes)) {
      this.#refuse(piece.length, "busy");
      return;
    }
    if (last) this.#finish(piece);
    else if (this.#chunks === null) this.#chunks = [Buffer.from(piece)];
    else this.#chunks.push(Buffer.from(piece));
  }

  aborted(): void {
    if (this.#done) return;
    this.#done = true;
    this.#chunks = null;
    this.#memory.giveBytes(this.#bytes);
  }

  writable(): void {}

  #finish(piece: Uint8Array): void {
    this.#done = true;
    if ("largeAbove" in this.#taker && this.#bytes > (this.#taker.largeAbove ?? this.#bytes)) {
      this.#taker.takeLarge?.(this.#exchange, this.#head, this.#shared(piece), this.#bytes);
      return;
    }
    const whole =
      this.#chunks === null
        ? Buffer.from(piece.buffer, piece.byteOffset, piece.length)
        : Buffer.concat([...this.#chunks, piece], this.#bytes);
    this.#chunks = null;
    const taker = this.#taker;
    if ("takeRaw" in taker) {
      taker.takeRaw(this.#exchange, this.#head, new Uint8Array(whole), this.#bytes);
      return;
    }
    if (!isUtf8(whole)) {
      this.#unreadable(taker, "it is not UTF-8");
      return;
    }
    if (whole.length === 0) {
      this.#unreadable(taker, "it is empty");
      return;
    }
    taker.take(this.#exchange, this.#head, whole.toString(), this.#bytes);
  }

  /** The whole body in shared memory that other threads can read; pieces are released one by one. */
  #shared(last: Uint8Array): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(this.#bytes);
    const whole = new Uint8Array(memory);
    let at = 0;
    for (let piece = this.#chunks?.shift(); piece !== undefined; piece = this.#chunks?.shift()) {
      whole.set(piece, at);
      at += piece.length;
    }
    whole.set(last, at);
    this.#chunks = null;
    return memory;
  }

  #unreadable(taker: BodyTaker, why: string): void {
    this.#memory.giveBytes(this.#bytes);
    if (taker.unreadable === undefined) replyRefusal(this.#exchange, refuse("bad_json", why));
    else taker.unreadable(this.#exchange, why);
  }

  #refuse(untaken: number, code: "body_too_large" | "busy"): void {
    this.#done = true;
    this.#chunks = null;
    this.#memory.giveBytes(this.#bytes - untaken);
    // Read and drop the rest, so that the client sees the response instead of a reset.
    if (code === "busy") this.#replyBusy();
    else replyRefusal(this.#exchange, refuse("body_too_large", this.#bytesMax), true);
  }

  #replyBusy(): void {
    if ("busy" in this.#taker && this.#taker.busy !== undefined) this.#taker.busy(this.#exchange);
    else replyRefusal(this.#exchange, refuse("busy"));
  }
}
