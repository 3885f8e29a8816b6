/**
 * The readers of the stream that have the same filter, and the position of each.
 *
 * A reader is live when it has everything up to `#sent`. All live readers get the same bytes, made once. Many messages are
 * sent in pieces. A reader that is behind (because of its backlog or a slow connection) catches up piece by piece from the
 * ring; a reader whose position has left the ring gets `resync`. No messages are queued per reader: after a write that
 * returned false, nothing is written until the connection has taken it.
 */
import { STREAM_PIECE_BYTES_MAX, STREAM_UNSENT_BYTES_MAX } from "#protocol/limits";
import type { Exchange, ExchangeWatcher, HeaderList } from "../transport/transport-port.ts";
import { backlogFrames, COMMENT_FRAME, coalescedFrames, helloFrame, resyncFrame, snapshotFrame } from "./sse-frame.ts";
import type { StreamFilter } from "./stream-filter.ts";
import type { StreamRing } from "./stream-ring.ts";

/** Making a piece costs as much as this many copies of it. */
const MAKING_COPIES = 16;
/** Looking at a message costs as much as copying this many bytes. */
const LOOKING_BYTES = 64;

/** Pieces up to this size are sent regardless of unsent bytes: each reader has at most one. */
const SMALL_BYTES_MAX = STREAM_PIECE_BYTES_MAX / 4;

/** What all channels share. */
export interface ChannelPorts {
  /** Monotonic time in microseconds. */
  now(): number;
  /** Runs `work` after other work of the event loop. */
  defer(work: () => void): void;
  /** Bytes that connections have not taken, of all channels. */
  readonly unsent: { bytes: number };
  /** Bytes given to connections and gaps reported to readers (`resync`), since the start of the hub. */
  readonly given: { bytes: number; gaps: number };
  /** The last reader has left. */
  emptied(channel: StreamChannel): void;
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
  readonly #channel: StreamChannel;
  /** The newest number sent to this subscriber. */
  position: number;
  /** True until the connection has taken the last write. */
  blocked = false;
  /** Bytes of that write. */
  waiting = 0;
  /** True when messages were lost: send `resync` as soon as the connection takes more. */
  resync = false;
  wroteUs: number;

  constructor(channel: StreamChannel, exchange: Exchange, position: number, nowUs: number) {
    this.#channel = channel;
    this.exchange = exchange;
    this.position = position;
    this.wroteUs = nowUs;
  }

  data(): void {}

  aborted(): void {
    this.#channel.left(this);
  }

  writable(): void {
    this.blocked = false;
    this.#channel.taken(this);
    this.#channel.catchUp(this);
  }
}

export class StreamChannel {
  readonly filter: StreamFilter | null;
  readonly #ring: StreamRing;
  readonly #ports: ChannelPorts;
  readonly #subscribers = new Set<Subscriber>();
  /** Live subscribers have been sent everything up to this number. */
  #sent: number;
  /** The piece that is being delivered. */
  #piece: LivePiece | null = null;

  constructor(filter: StreamFilter | null, ring: StreamRing, ports: ChannelPorts) {
    this.filter = filter;
    this.#ring = ring;
    this.#ports = ports;
    this.#sent = ring.latest;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** True when live subscribers lack messages. */
  get isBehind(): boolean {
    return this.#piece !== null || this.#sent < this.#ring.latest;
  }

  /** Connects a client that has everything up to `since`; null: only new messages are wanted. */
  open(exchange: Exchange, since: number | null, headers: HeaderList): void {
    const latest = this.#ring.latest;
    const from = since ?? latest;
    const replayable = from <= latest && from >= this.#ring.oldest - 1;
    const subscriber = new Subscriber(this, exchange, replayable ? from : latest, this.#ports.now());
    const first = helloFrame(latest, from) + (replayable ? this.#snapshot() : this.#resync(latest));
    this.#subscribers.add(subscriber);
    exchange.watch(subscriber);
    this.#ports.given.bytes += first.length;
    subscriber.blocked = !exchange.begin(200, headers, first, COMMENT_FRAME);
    this.catchUp(subscriber);
  }

  /** Takes over the readers of a channel of a failed hub. Their pending messages are unknown, so each gets `resync`. */
  takeOver(former: StreamChannel): void {
    for (const { exchange, blocked } of former.#subscribers) {
      const subscriber = new Subscriber(this, exchange, this.#sent, this.#ports.now());
      subscriber.blocked = blocked;
      this.#subscribers.add(subscriber);
      exchange.watch(subscriber);
      this.#lose(subscriber);
    }
    former.#subscribers.clear();
  }

  /** Earlier messages are missing. */
  loseAll(): void {
    for (const subscriber of this.#subscribers) this.#lose(subscriber);
    this.#sent = this.#ring.latest;
  }

  /** Sends new messages to live subscribers, as far as `costMax` allows; returns the cost, in bytes copied. */
  send(costMax: number): number {
    let cost = 0;
    while (cost < costMax) {
      if (this.#piece === null) {
        const from = this.#sent;
        this.#piece = this.#nextPiece();
        cost += (this.#sent - from) * LOOKING_BYTES;
        if (this.#piece === null) break;
        cost += this.#piece.bytes.length * MAKING_COPIES;
      }
      cost += this.#deliver(this.#piece, costMax - cost);
    }
    return cost;
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
      this.#write(subscriber, this.#resync(this.#sent));
      return;
    }
    if (subscriber.position >= this.#sent) return;
    const { frames, reached } = backlogFrames(this.#ring, subscriber.position, this.#sent, this.filter);
    subscriber.position = reached;
    if (frames.length > 0) this.#give(subscriber, frames);
    if (!subscriber.blocked && reached < this.#sent) this.#ports.defer(() => this.catchUp(subscriber));
  }

  /** The connection has taken the last write. */
  taken(subscriber: Subscriber): void {
    this.#ports.unsent.bytes -= subscriber.waiting;
    subscriber.waiting = 0;
  }

  left(subscriber: Subscriber): void {
    this.taken(subscriber);
    if (this.#subscribers.delete(subscriber) && this.#subscribers.size === 0) this.#ports.emptied(this);
  }

  /** Ends every stream; clients reconnect with the last number they saw. */
  end(): void {
    for (const subscriber of this.#subscribers) subscriber.exchange.end();
    this.#subscribers.clear();
  }

  /** Sends a comment to subscribers that got nothing since `untilUs`. */
  keepAlive(untilUs: number): void {
    for (const subscriber of this.#subscribers) {
      if (!subscriber.blocked && subscriber.wroteUs <= untilUs) this.#write(subscriber, COMMENT_FRAME);
    }
  }

  /** The next bytes for live subscribers. If making them fails, the subscribers get `resync`. */
  #coalesced(from: number): { bytes: Buffer; reached: number } {
    try {
      const { frames, reached } = coalescedFrames(this.#ring, from, this.filter);
      return { bytes: Buffer.from(frames), reached };
    } catch (cause) {
      for (const subscriber of this.#subscribers) if (subscriber.position === from) this.#lose(subscriber);
      throw cause;
    }
  }

  #resync(latest: number): string {
    this.#ports.given.gaps += 1;
    return resyncFrame(latest) + this.#snapshot();
  }

  #snapshot(): string {
    const run = this.filter?.snapshotOf ?? null;
    return run === null ? "" : snapshotFrame(this.#ring.runText(run));
  }

  #lose(subscriber: Subscriber): void {
    subscriber.resync = true;
    subscriber.position = this.#ring.latest;
    if (subscriber.blocked) return;
    subscriber.resync = false;
    this.#write(subscriber, this.#resync(this.#ring.latest));
  }

  /** Sends messages; while too many bytes are unsent, a large piece is replaced by `resync`. */
  #give(subscriber: Subscriber, piece: string | Uint8Array): void {
    if (piece.length > SMALL_BYTES_MAX && this.#ports.unsent.bytes >= STREAM_UNSENT_BYTES_MAX) this.#lose(subscriber);
    else this.#write(subscriber, piece);
  }

  #write(subscriber: Subscriber, piece: string | Uint8Array): void {
    subscriber.wroteUs = this.#ports.now();
    this.#ports.given.bytes += piece.length;
    if (subscriber.exchange.write(piece)) return;
    subscriber.blocked = true;
    subscriber.waiting = piece.length;
    this.#ports.unsent.bytes += piece.length;
  }
}
