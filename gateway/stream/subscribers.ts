/**
 * GET /api/stream: the subscribers and the position of each.
 *
 * A subscriber is live when it has everything up to `#sent`. All live subscribers get the same bytes, made once. Messages
 * wait up to 50 ms, so that of several about one entity only the last is sent. Many messages are sent in pieces, and other
 * work runs between two pieces. A subscriber that is behind (because of its backlog or a slow connection) catches up piece by
 * piece from the ring; a subscriber whose position has left the ring gets `resync`. No messages are queued per subscriber:
 * after a write that returned false, nothing is written until the connection has taken it. When all subscribers together have
 * too many unsent bytes, a subscriber due for a large piece gets `resync` instead.
 */
import { STREAM_KEEP_ALIVE_MS, STREAM_PIECE_BYTES_MAX, STREAM_RING_COUNT, STREAM_UNSENT_BYTES_MAX } from "#protocol/limits";
import type { Alarm } from "#runtime/timers";
import { API_HEADERS } from "../request/reply.ts";
import type { Exchange, ExchangeWatcher, HeaderList } from "../transport/transport-port.ts";
import { backlogFrames, COMMENT_FRAME, coalescedFrames, helloFrame, resyncFrame } from "./sse-frame.ts";
import type { StreamRing } from "./stream-ring.ts";

/** Messages about one entity within this time are sent as one. */
export const WINDOW_US = 50_000;
const KEEP_ALIVE_US = STREAM_KEEP_ALIVE_MS * 1000;
const KEEP_ALIVE_CHECK_US = 1_000_000;

/** With this many waiting messages, send at once, so that none leaves the ring unsent. */
const FLUSH_COUNT = STREAM_RING_COUNT / 4;

/** Bytes copied to readers in one turn, which takes about 20 ms. */
const TURN_BYTES_MAX = 8 * 1024 * 1024;
/** Making a piece costs as much as this many copies of it. */
const MAKING_COPIES = 16;

/** Pieces up to this size are sent regardless of unsent bytes: each reader has at most one. */
const SMALL_BYTES_MAX = STREAM_PIECE_BYTES_MAX / 4;

const STREAM_HEADERS: HeaderList = ["content-type", "text/event-stream", "cache-control", "no-cache", ...API_HEADERS];

export interface StreamTiming {
  /** Monotonic time in microseconds. */
  now(): number;
  window: Alarm;
  keepAlive: Alarm;
  /** Runs `work` after other work of the event loop. */
  defer(work: () => void): void;
}

/** The next piece for live readers, and the readers that have not got it yet. */
interface LivePiece {
  bytes: Buffer;
  /** Live readers have everything up to `from`, and after this piece up to `reached`. */
  from: number;
  reached: number;
  readers: IterableIterator<Subscriber>;
}

class Subscriber implements ExchangeWatcher {
  readonly exchange: Exchange;
  readonly #hub: StreamHub;
  /** The newest number sent to this subscriber. */
  position: number;
  /** True until the connection has taken the last write. */
  blocked = false;
  /** Bytes of that write. */
  waiting = 0;
  /** True when messages were lost: send `resync` as soon as the connection takes more. */
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
    this.#hub.taken(this);
    this.#hub.catchUp(this);
  }
}

export class StreamHub {
  readonly #ring: StreamRing;
  readonly #timing: StreamTiming;
  readonly #subscribers = new Set<Subscriber>();
  /** Live subscribers have been sent everything up to this number. */
  #sent = 0;
  #windowOpen = false;
  /** The piece that is being delivered. */
  #piece: LivePiece | null = null;
  /** True when a further turn is scheduled. */
  #goesOn = false;
  /** Bytes that connections have not taken. */
  #unsent = 0;

  constructor(ring: StreamRing, timing: StreamTiming) {
    this.#ring = ring;
    this.#timing = timing;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** Connects a client that has everything up to `since`; null: only new messages are wanted. */
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

  /** Takes over the readers of a failed hub. Their pending messages are unknown, so each gets `resync`. */
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

  /** The ring has new messages; `seamless` is false when earlier messages are missing. */
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

  /** Sends gathered messages to all live subscribers: as much as one turn allows, the rest later. */
  flush(): void {
    if (this.#windowOpen) this.#timing.window.clear();
    this.#windowOpen = false;
    for (let bytes = 0; bytes < TURN_BYTES_MAX; ) {
      if (this.#piece === null) {
        this.#piece = this.#nextPiece();
        if (this.#piece === null) return;
        bytes += this.#piece.bytes.length * MAKING_COPIES;
      }
      bytes += this.#deliver(this.#piece, TURN_BYTES_MAX - bytes);
    }
    this.#goOn();
  }

  /** Null when there is nothing to send, or no reader to send it to. */
  #nextPiece(): LivePiece | null {
    const from = this.#sent;
    const isLost = from < this.#ring.oldest - 1;
    const readers = [...this.#subscribers].filter(({ blocked, position }) => !blocked && position >= from);
    this.#sent = this.#ring.latest;
    if (from === this.#sent || readers.length === 0) return null;
    if (isLost) {
      for (const subscriber of readers) if (subscriber.position === from) this.#lose(subscriber);
      return null;
    }
    const { bytes, reached } = this.#coalesced(from);
    this.#sent = reached;
    return { bytes, from, reached, readers: readers.values() };
  }

  /** Gives a piece to its next readers, about `bytesMax` bytes; returns the bytes given. */
  #deliver(piece: LivePiece, bytesMax: number): number {
    const { bytes, from, reached, readers } = piece;
    let given = 0;
    while (given < bytesMax) {
      const { value: subscriber, done } = readers.next();
      if (done === true) {
        this.#piece = null;
        break;
      }
      if (subscriber.position === from && this.#subscribers.has(subscriber)) {
        subscriber.position = reached;
        if (bytes.length > 0) this.#give(subscriber, bytes);
        given += bytes.length;
      } else {
        // The reader connected with a number of its own.
        this.catchUp(subscriber);
      }
    }
    return given;
  }

  #goOn(): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    this.#timing.defer(() => {
      this.#goesOn = false;
      this.flush();
    });
  }

  /** Sends its next piece to a subscriber that is behind, and continues later if there is more. */
  catchUp(subscriber: Subscriber): void {
    try {
      this.#catchUp(subscriber);
    } catch (cause) {
      // After the cut, the client reconnects with the last number it saw.
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
    if (frames.length > 0) this.#give(subscriber, frames);
    if (!subscriber.blocked && reached < this.#sent) this.#timing.defer(() => this.catchUp(subscriber));
  }

  /** The connection has taken the last write. */
  taken(subscriber: Subscriber): void {
    this.#unsent -= subscriber.waiting;
    subscriber.waiting = 0;
  }

  left(subscriber: Subscriber): void {
    this.taken(subscriber);
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size > 0) return;
    this.#timing.keepAlive.clear();
    this.flush();
  }

  /** Ends every stream; clients reconnect with the last number they saw. */
  close(): void {
    do this.flush();
    while (this.#piece !== null || this.#sent < this.#ring.latest);
    for (const subscriber of this.#subscribers) subscriber.exchange.end();
    this.#subscribers.clear();
    this.#timing.keepAlive.clear();
  }

  /** The next bytes for live subscribers. If making them fails, the subscribers get `resync`. */
  #coalesced(from: number): { bytes: Buffer; reached: number } {
    try {
      const { frames, reached } = coalescedFrames(this.#ring, from);
      return { bytes: Buffer.from(frames), reached };
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

  /** Sends messages; while too many bytes are unsent, a large piece is replaced by `resync`. */
  #give(subscriber: Subscriber, piece: string | Uint8Array): void {
    if (piece.length > SMALL_BYTES_MAX && this.#unsent >= STREAM_UNSENT_BYTES_MAX) this.#lose(subscriber);
    else this.#write(subscriber, piece);
  }

  #write(subscriber: Subscriber, piece: string | Uint8Array): void {
    subscriber.wroteUs = this.#timing.now();
    if (subscriber.exchange.write(piece)) return;
    subscriber.blocked = true;
    subscriber.waiting = piece.length;
    this.#unsent += piece.length;
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
