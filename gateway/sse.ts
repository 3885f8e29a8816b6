/**
 * GET /api/stream: who is connected and how far each of them is.
 *
 * A subscriber is live when it has everything up to `#sent`: all live ones get the same bytes, made once. Messages wait up
 * to 50 ms so that several about one entity go out as the last of them. A subscriber that is behind (its backlog, or a slow
 * connection) is brought up piece by piece from the ring; one that fell out of the ring is told to resync. Nothing is ever
 * queued for a subscriber: after a write that returned false, nothing is written until the connection takes more.
 */
import { STREAM_KEEP_ALIVE_MS, STREAM_RING_COUNT } from "#protocol/limits";
import type { Alarm } from "#runtime/timers";
import { API_HEADERS } from "./reply.ts";
import { backlogFrames, COMMENT_FRAME, coalescedFrames, helloFrame, resyncFrame } from "./sse-frame.ts";
import type { StreamRing } from "./stream-ring.ts";
import type { Exchange, ExchangeWatcher, HeaderList } from "./transport-port.ts";

/** Messages about one entity within this time go out as one. */
export const WINDOW_US = 50_000;
const KEEP_ALIVE_US = STREAM_KEEP_ALIVE_MS * 1000;
const KEEP_ALIVE_CHECK_US = 1_000_000;

/** So many waiting messages are sent before their time is up, so that none falls out of the ring unsent. */
const FLUSH_COUNT = STREAM_RING_COUNT / 4;

const STREAM_HEADERS: HeaderList = ["content-type", "text/event-stream", "cache-control", "no-cache", ...API_HEADERS];

export interface StreamTiming {
  /** Microseconds that never step back. */
  now(): number;
  window: Alarm;
  keepAlive: Alarm;
  /** Runs something after other work of the loop had its turn. */
  defer(work: () => void): void;
}

class Subscriber implements ExchangeWatcher {
  readonly exchange: Exchange;
  readonly #hub: StreamHub;
  /** The newest number it has been sent. */
  position: number;
  /** Nothing may be written until the connection takes more. */
  blocked = false;
  /** Owed as soon as the connection takes more: messages were lost to it. */
  resync = false;
  wroteUs: number;

  constructor(hub: StreamHub, exchange: Exchange, position: number, nowUs: number) {
    this.#hub = hub;
    this.exchange = exchange;
    this.position = position;
    this.wroteUs = nowUs;
  }

  data(): void {}

  aborted(): void {
    this.#hub.left(this);
  }

  writable(): void {
    this.blocked = false;
    this.#hub.catchUp(this);
  }
}

export class StreamHub {
  readonly #ring: StreamRing;
  readonly #timing: StreamTiming;
  readonly #subscribers = new Set<Subscriber>();
  /** Live subscribers have been sent everything up to here. */
  #sent = 0;
  #windowOpen = false;

  constructor(ring: StreamRing, timing: StreamTiming) {
    this.#ring = ring;
    this.#timing = timing;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** Connects a client that has everything up to `since`; null: it wants only what is new. */
  open(exchange: Exchange, since: number | null): void {
    if (exchange.method === "HEAD") {
      exchange.respond(200, STREAM_HEADERS, null);
      return;
    }
    this.flush();
    const latest = this.#ring.latest;
    const from = since ?? latest;
    const replayable = from <= latest && from >= this.#ring.oldest - 1;
    const subscriber = new Subscriber(this, exchange, replayable ? from : latest, this.#timing.now());
    const first = helloFrame(latest, from) + (replayable ? "" : resyncFrame(latest));
    if (this.#subscribers.size === 0) this.#watchSilence();
    this.#subscribers.add(subscriber);
    exchange.watch(subscriber);
    subscriber.blocked = !exchange.begin(200, STREAM_HEADERS, first, COMMENT_FRAME);
    this.catchUp(subscriber);
  }

  /** Goes on with the readers of a failed hub: what they were to get next is not known, so they are told to fetch everything. */
  takeOver(former: StreamHub): void {
    this.#sent = this.#ring.latest;
    for (const { exchange, blocked } of former.#subscribers) {
      const subscriber = new Subscriber(this, exchange, this.#sent, this.#timing.now());
      subscriber.blocked = blocked;
      this.#subscribers.add(subscriber);
      exchange.watch(subscriber);
      this.#lose(subscriber);
    }
    if (this.#subscribers.size > 0) this.#watchSilence();
    former.#subscribers.clear();
    former.#timing.window.clear();
    former.#timing.keepAlive.clear();
  }

  /** The ring has new messages; `seamless` is false when some before them are missing. */
  published(seamless: boolean): void {
    if (this.#subscribers.size === 0) {
      this.#sent = this.#ring.latest;
      return;
    }
    if (!seamless) {
      for (const subscriber of this.#subscribers) this.#lose(subscriber);
      this.#sent = this.#ring.latest;
    } else if (this.#ring.latest - this.#sent >= FLUSH_COUNT) {
      this.flush();
    } else if (!this.#windowOpen && this.#sent < this.#ring.latest) {
      this.#windowOpen = true;
      this.#timing.window.set(WINDOW_US, () => this.flush());
    }
  }

  /** Sends what has gathered to every live subscriber. */
  flush(): void {
    if (this.#windowOpen) this.#timing.window.clear();
    this.#windowOpen = false;
    const from = this.#sent;
    this.#sent = this.#ring.latest;
    if (from === this.#sent || this.#subscribers.size === 0) return;
    let bytes: Buffer | null = null;
    for (const subscriber of this.#subscribers) {
      if (subscriber.blocked || subscriber.position !== from) continue;
      if (from < this.#ring.oldest - 1) {
        this.#lose(subscriber);
        continue;
      }
      bytes ??= this.#coalesced(from);
      subscriber.position = this.#sent;
      if (bytes.length > 0) this.#write(subscriber, bytes);
    }
  }

  /** Sends a subscriber that is behind its next piece, and goes on later while there is more. */
  catchUp(subscriber: Subscriber): void {
    try {
      this.#catchUp(subscriber);
    } catch (cause) {
      // Cut off, it comes back with the last number it saw.
      subscriber.exchange.cut();
      this.left(subscriber);
      throw cause;
    }
  }

  #catchUp(subscriber: Subscriber): void {
    if (subscriber.blocked || !subscriber.exchange.open || !this.#subscribers.has(subscriber)) return;
    if (subscriber.resync || subscriber.position < this.#ring.oldest - 1) {
      subscriber.resync = false;
      subscriber.position = this.#sent;
      this.#write(subscriber, resyncFrame(this.#sent));
      return;
    }
    if (subscriber.position >= this.#sent) return;
    const { frames, reached } = backlogFrames(this.#ring, subscriber.position, this.#sent);
    subscriber.position = reached;
    if (frames.length > 0) this.#write(subscriber, frames);
    if (!subscriber.blocked && reached < this.#sent) this.#timing.defer(() => this.catchUp(subscriber));
  }

  left(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size > 0) return;
    this.#timing.keepAlive.clear();
    this.flush();
  }

  /** Ends every stream; clients reconnect with the last number they saw. */
  close(): void {
    this.flush();
    for (const subscriber of this.#subscribers) subscriber.exchange.end();
    this.#subscribers.clear();
    this.#timing.keepAlive.clear();
  }

  /** What live subscribers get next. When it cannot be made they are told to fetch everything. */
  #coalesced(from: number): Buffer {
    try {
      return Buffer.from(coalescedFrames(this.#ring, from));
    } catch (cause) {
      for (const subscriber of this.#subscribers) if (subscriber.position === from) this.#lose(subscriber);
      throw cause;
    }
  }

  #lose(subscriber: Subscriber): void {
    subscriber.resync = true;
    subscriber.position = this.#ring.latest;
    if (subscriber.blocked) return;
    subscriber.resync = false;
    this.#write(subscriber, resyncFrame(this.#ring.latest));
  }

  #write(subscriber: Subscriber, piece: string | Uint8Array): void {
    subscriber.wroteUs = this.#timing.now();
    if (!subscriber.exchange.write(piece)) subscriber.blocked = true;
  }

  #watchSilence(): void {
    this.#timing.keepAlive.set(KEEP_ALIVE_CHECK_US, () => {
      const nowUs = this.#timing.now();
      for (const subscriber of this.#subscribers) {
        if (!subscriber.blocked && nowUs - subscriber.wroteUs >= KEEP_ALIVE_US) this.#write(subscriber, COMMENT_FRAME);
      }
      this.#watchSilence();
    });
  }
}
