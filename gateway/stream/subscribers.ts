/**
 * GET /api/stream: the readers, by their filter (stream-channel.ts).
 *
 * Messages wait up to 50 ms, so that of several about one entity only the last is sent. Many messages are sent in pieces, and
 * other work runs between two turns. When all readers together have too many unsent bytes, a reader due for a large piece
 * gets `resync` instead.
 */
import { STREAM_KEEP_ALIVE_MS, STREAM_RING_COUNT } from "#protocol/limits";
import type { Alarm } from "#runtime/timers";
import { API_HEADERS } from "../request/reply.ts";
import type { Exchange, HeaderList } from "../transport/transport-port.ts";
import { type ChannelPorts, StreamChannel } from "./stream-channel.ts";
import type { StreamFilter } from "./stream-filter.ts";
import type { StreamRing } from "./stream-ring.ts";

/** Messages about one entity within this time are sent as one. */
export const WINDOW_US = 50_000;
const KEEP_ALIVE_US = STREAM_KEEP_ALIVE_MS * 1000;
const KEEP_ALIVE_CHECK_US = 1_000_000;

/** With this many waiting messages, send at once, so that none leaves the ring unsent. */
const FLUSH_COUNT = STREAM_RING_COUNT / 4;

/** Bytes copied to readers in one turn, which takes about 20 ms. */
const TURN_BYTES_MAX = 8 * 1024 * 1024;

const STREAM_HEADERS: HeaderList = ["content-type", "text/event-stream", "cache-control", "no-cache", ...API_HEADERS];

export interface StreamTiming {
  /** Monotonic time in microseconds. */
  now(): number;
  window: Alarm;
  keepAlive: Alarm;
  /** Runs `work` after other work of the event loop. */
  defer(work: () => void): void;
}

export class StreamHub {
  readonly #ring: StreamRing;
  readonly #timing: StreamTiming;
  readonly #ports: ChannelPorts;
  /** By the key of the filter, empty without one. */
  readonly #channels = new Map<string, StreamChannel>();
  /** Channels whose readers lack messages, the next one first. */
  readonly #due = new Set<StreamChannel>();
  /** The newest number when messages were last sent. */
  #flushed = 0;
  #windowOpen = false;
  /** True when a further turn is scheduled. */
  #goesOn = false;

  constructor(ring: StreamRing, timing: StreamTiming) {
    this.#ring = ring;
    this.#timing = timing;
    this.#ports = {
      now: () => timing.now(),
      defer: (work) => timing.defer(work),
      unsent: { bytes: 0 },
      given: { bytes: 0, gaps: 0 },
      emptied: (channel) => this.#emptied(channel),
    };
  }

  /** Number of readers. */
  get size(): number {
    let size = 0;
    for (const channel of this.#channels.values()) size += channel.size;
    return size;
  }

  /** Bytes given to connections, and gaps reported to readers. */
  get given(): Readonly<{ bytes: number; gaps: number }> {
    return this.#ports.given;
  }

  /** Connects a client that has everything up to `since`; null: only new messages are wanted. */
  open(exchange: Exchange, since: number | null, filter: StreamFilter | null = null): void {
    if (exchange.method === "HEAD") {
      exchange.respond(200, STREAM_HEADERS, null);
      return;
    }
    const channel = this.#channelFor(filter);
    this.#due.add(channel);
    this.#turn();
    try {
      channel.open(exchange, since, STREAM_HEADERS);
    } finally {
      if (channel.size === 0) this.#emptied(channel);
    }
  }

  /** Takes over the readers of a failed hub, which get `resync`. */
  takeOver(former: StreamHub): void {
    this.#flushed = this.#ring.latest;
    for (const channel of former.#channels.values()) this.#channelFor(channel.filter).takeOver(channel);
    former.#channels.clear();
    former.#timing.window.clear();
    former.#timing.keepAlive.clear();
  }

  /** The ring has new messages; `seamless` is false when earlier messages are missing. */
  published(seamless: boolean): void {
    if (this.#channels.size === 0) {
      this.#flushed = this.#ring.latest;
      return;
    }
    if (!seamless) {
      for (const channel of this.#channels.values()) channel.loseAll();
      this.#flushed = this.#ring.latest;
    } else if (this.#ring.latest - this.#flushed >= FLUSH_COUNT) {
      this.flush();
    } else if (!this.#windowOpen && this.#flushed < this.#ring.latest) {
      this.#windowOpen = true;
      this.#timing.window.set(WINDOW_US, () => this.flush());
    }
  }

  /** Sends gathered messages to all live readers: as much as one turn allows, the rest later. */
  flush(): void {
    if (this.#windowOpen) this.#timing.window.clear();
    this.#windowOpen = false;
    this.#flushed = this.#ring.latest;
    for (const channel of this.#channels.values()) this.#due.add(channel);
    this.#turn();
  }

  /** The channels take turns, so that one with many messages does not hold up the others. */
  #turn(): void {
    let left = TURN_BYTES_MAX;
    try {
      for (const channel of this.#due) {
        if (left <= 0) break;
        this.#due.delete(channel);
        left -= channel.send(left);
        if (channel.size > 0 && channel.isBehind) this.#due.add(channel);
      }
    } finally {
      if (this.#due.size > 0) this.#goOn();
    }
  }

  #goOn(): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    this.#timing.defer(() => {
      this.#goesOn = false;
      this.#turn();
    });
  }

  /** Ends every stream; clients reconnect with the last number they saw. */
  close(): void {
    do this.flush();
    while (this.#due.size > 0);
    for (const channel of this.#channels.values()) channel.end();
    this.#channels.clear();
    this.#timing.keepAlive.clear();
  }

  #channelFor(filter: StreamFilter | null): StreamChannel {
    const key = filter?.key ?? "";
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      if (this.#channels.size === 0) this.#watchSilence();
      channel = new StreamChannel(filter, this.#ring, this.#ports);
      this.#channels.set(key, channel);
    }
    return channel;
  }

  #emptied(channel: StreamChannel): void {
    this.#channels.delete(channel.filter?.key ?? "");
    this.#due.delete(channel);
    if (this.#channels.size > 0) return;
    this.#timing.keepAlive.clear();
    this.flush();
  }

  #watchSilence(): void {
    this.#timing.keepAlive.set(KEEP_ALIVE_CHECK_US, () => {
      const untilUs = this.#timing.now() - KEEP_ALIVE_US;
      for (const channel of this.#channels.values()) channel.keepAlive(untilUs);
      this.#watchSilence();
    });
  }
}
