/**
 * Limits how far the feed may run ahead of a gateway. Answers are always sent. Stream messages beyond the limit are left out:
 * once the gateway has caught up, it learns that numbers are missing and sends its readers `resync`. So a slow gateway costs
 * the writer no memory, and no reader misses messages unnoticed.
 */

import { FEED_BYTES_MAX, FEED_COMMITS_MAX } from "#protocol/limits";
import { type Committed, eventAnswers } from "#protocol/wire/feed";

/** Approximate size of an array entry on its way to another thread. */
const SLOT_BYTES = 16;

/** The part of the bound after which the gateway is asked how far it has read. */
const ASKED_SHARE = 1 / 8;
/** Small commits after which it is asked, so that the list of unread commits stays short. */
const ASKED_COMMITS = 64;

export class FeedWindow {
  readonly #commitsMax: number;
  readonly #bytesMax: number;
  /** Commits and bytes that went out since the gateway was asked how far it has read. */
  #unasked = { commits: 0, bytes: 0 };
  /** Commits with stream messages that the gateway has not read, oldest first. */
  #unread: { lastSeq: number; bytes: number }[] = [];
  #bytes = 0;
  #behind = false;

  constructor(commitsMax = FEED_COMMITS_MAX, bytesMax = FEED_BYTES_MAX) {
    this.#commitsMax = commitsMax;
    this.#bytesMax = bytesMax;
  }

  /** The commit to be sent: whole, or only its answers. */
  admit(committed: Committed): Committed {
    if (committed.stream.length === 0) return committed;
    const bytes = (committed.stream.length + committed.runs.length + committed.logs.length) * SLOT_BYTES;
    const isFull = this.#unread.length >= this.#commitsMax && this.#bytes + bytes > this.#bytesMax;
    if (this.#behind) return answersOf(committed);
    if (isFull) {
      this.#behind = true;
      // Once the gateway has come to this commit, it has read all that went out before.
      return this.#asking(answersOf(committed), this.#unread.at(-1)?.lastSeq ?? 0);
    }
    const lastSeq = committed.first_seq + committed.stream.length / 2 - 1;
    this.#unread.push({ lastSeq, bytes });
    this.#bytes += bytes;
    this.#unasked.commits += 1;
    this.#unasked.bytes += bytes;
    const isDue = this.#unasked.commits >= ASKED_COMMITS || this.#unasked.bytes >= this.#bytesMax * ASKED_SHARE;
    return isDue ? this.#asking(committed, lastSeq) : committed;
  }

  #asking(committed: Committed, acknowledge: number): Committed {
    this.#unasked = { commits: 0, bytes: 0 };
    return { ...committed, acknowledge };
  }

  /** The gateway has read up to this number. Returns true when it has caught up and must learn that messages were left out. */
  read(seq: number): boolean {
    let first = this.#unread[0];
    for (; first !== undefined && first.lastSeq <= seq; first = this.#unread[0]) {
      this.#unread.shift();
      this.#bytes -= first.bytes;
    }
    if (!this.#behind || this.#unread.length > 0) return false;
    this.#behind = false;
    return true;
  }

  /** A gateway may have started: no commit is on its way to it. */
  reset(): void {
    this.#unread = [];
    this.#bytes = 0;
    this.#unasked = { commits: 0, bytes: 0 };
    this.#behind = false;
  }
}

/** The answers of a commit, including those that are events. */
function answersOf(committed: Committed): Committed {
  const events = eventAnswers(committed).flatMap(([command, event]) => [command, 201, event]);
  return { ...committed, replies: [...committed.replies, ...events], stream: [], runs: [], first_seq: 0, logs: [] };
}
