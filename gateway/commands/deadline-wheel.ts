/**
 * Deadlines of many entries with a single timer.
 *
 * Entries are linked into slots of 20 ms (intrusive lists): adding and removing cost a few writes and no allocation. One
 * alarm is set for the next slot that is not empty. An entry never fires early, and at most one slot late.
 */
import type { Alarm } from "#runtime/timers";

/** Long-polls and commands wait whole seconds, so 20 ms do not matter; at most 50 wake-ups a second. */
export const SLOT_US = 20_000;
/** 40.96 s: more than the longest deadline (a long-poll's 30 s plus the grace of 5 s). A power of two. */
const SLOTS = 2048;

/** An entry of the wheel. Only the wheel writes these fields; `slot` is -1 outside the wheel. */
export interface WheelEntry {
  slot: number;
  previous: WheelEntry | null;
  next: WheelEntry | null;
}

export class DeadlineWheel<Entry extends WheelEntry> {
  readonly #now: () => number;
  readonly #alarm: Alarm;
  readonly #expired: (entry: Entry) => void;
  readonly #heads: (WheelEntry | null)[] = new Array<WheelEntry | null>(SLOTS).fill(null);
  #size = 0;
  /** All slots up to this tick have fired. */
  #tick = 0;
  /** No slot before this one holds an entry. */
  #armedTick = Number.POSITIVE_INFINITY;

  /** `now` is monotonic time in microseconds. */
  constructor(now: () => number, alarm: Alarm, expired: (entry: Entry) => void) {
    this.#now = now;
    this.#alarm = alarm;
    this.#expired = expired;
  }

  get size(): number {
    return this.#size;
  }

  /** Sets or moves the deadline of an entry. A deadline beyond the wheel fires at the wheel's end. */
  add(entry: Entry, dueUs: number): void {
    if (entry.slot !== -1) this.remove(entry);
    const dueTick = Math.ceil(dueUs / SLOT_US);
    if (dueTick >= this.#tick + SLOTS) this.#passEmptySlots();
    const tick = Math.min(Math.max(dueTick, this.#tick + 1), this.#tick + SLOTS - 1);
    const slot = tick % SLOTS;
    const head = this.#heads[slot] ?? null;
    entry.slot = slot;
    entry.next = head;
    entry.previous = null;
    if (head !== null) head.previous = entry;
    this.#heads[slot] = entry;
    this.#size += 1;
    if (tick < this.#armedTick) this.#arm(tick);
  }

  remove(entry: Entry): void {
    if (entry.slot === -1) return;
    if (entry.previous === null) this.#heads[entry.slot] = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next !== null) entry.next.previous = entry.previous;
    detach(entry);
    this.#size -= 1;
  }

  stop(): void {
    this.#alarm.clear();
    this.#armedTick = Number.POSITIVE_INFINITY;
  }

  /** Moves the wheel's end on, as far as the clock allows: the slots before the armed one are empty. */
  #passEmptySlots(): void {
    const nowTick = Math.floor(this.#now() / SLOT_US);
    this.#tick = Math.max(this.#tick, Math.min(nowTick, this.#armedTick - 1));
  }

  #arm(tick: number): void {
    this.#armedTick = tick;
    this.#alarm.set(Math.max(0, tick * SLOT_US - this.#now()), () => this.#fire());
  }

  #fire(): void {
    this.#armedTick = Number.POSITIVE_INFINITY;
    const nowTick = Math.floor(this.#now() / SLOT_US);
    const due: Entry[] = [];
    // After a long sleep, one round over all slots is enough.
    for (let tick = Math.max(this.#tick + 1, nowTick - SLOTS + 1); tick <= nowTick; tick += 1) this.#empty(tick % SLOTS, due);
    this.#tick = Math.max(this.#tick, nowTick);
    // First, because an entry may be added while others expire: no slot before the armed one may hold any.
    this.#armNext();
    for (const entry of due) this.#expired(entry);
  }

  #empty(slot: number, due: Entry[]): void {
    let entry = this.#heads[slot] ?? null;
    this.#heads[slot] = null;
    while (entry !== null) {
      const next: WheelEntry | null = entry.next;
      detach(entry);
      this.#size -= 1;
      due.push(entry as Entry);
      entry = next;
    }
  }

  #armNext(): void {
    if (this.#size === 0) return;
    for (let tick = this.#tick + 1; tick < this.#tick + SLOTS; tick += 1) {
      if (this.#heads[tick % SLOTS] === null) continue;
      this.#arm(tick);
      return;
    }
  }
}

function detach(entry: WheelEntry): void {
  entry.slot = -1;
  entry.previous = null;
  entry.next = null;
}
