/**
 * Requests that wait for the end or for a change of a run: `wait_ms` of GET /api/runs/{id} and of the creations.
 *
 * A waiting request costs its memory, an entry of the deadline wheel and a place in the table of its run; the feed wakes the
 * requests of the runs that a commit names. The core is not involved. An answer holds the number of the stream up to which it
 * shows every change (`stream_seq`), so that the next request can name it in `since` and misses nothing.
 */
import { refuse } from "#protocol/errors";
import { RUN_WAITS_MAX } from "#protocol/limits";
import type { WaitUntil } from "#protocol/records/run";
import { type Primitive, STREAM_CODE } from "#protocol/wire/feed";
import type { Alarm } from "#runtime/timers";
import { reply, replyRefusal } from "../request/reply.ts";
import type { StreamRing } from "../stream/stream-ring.ts";
import type { Exchange, ExchangeWatcher } from "../transport/transport-port.ts";
import { DeadlineWheel, type WheelEntry } from "./deadline-wheel.ts";

const RUN_UPDATED = STREAM_CODE["run.updated"];
const RUN_DELETED = STREAM_CODE["run.deleted"];

export interface RunWaitPorts {
  /** Monotonic time in microseconds. */
  now(): number;
  alarm: Alarm;
  ring: StreamRing;
  /** The run as JSON text, or null for an unknown one. */
  render(run: number): string | null;
  /** Null for an unknown run. */
  hasEnded(run: number): boolean | null;
  /** Reports a defect that costs the waiting requests of one run. */
  defect(cause: unknown): void;
}

export interface RunWait {
  run: number;
  waitUs: number;
  until: WaitUntil;
  /** The newest stream number that the client has seen; null if it has seen none. */
  since: number | null;
}

class Waiter implements WheelEntry, ExchangeWatcher {
  readonly exchange: Exchange;
  readonly run: number;
  readonly until: WaitUntil;
  /** Status of the answer: 201 for a creation. */
  readonly status: number;
  readonly dueUs: number;
  slot = -1;
  previous: WheelEntry | null = null;
  next: WheelEntry | null = null;
  #owner: RunWaits;

  constructor(owner: RunWaits, exchange: Exchange, { run, until, waitUs }: RunWait, status: number, nowUs: number) {
    this.#owner = owner;
    this.exchange = exchange;
    this.run = run;
    this.until = until;
    this.status = status;
    this.dueUs = nowUs + waitUs;
  }

  /** Moves the request to another table; it is then in no wheel. */
  moveTo(owner: RunWaits): void {
    this.#owner = owner;
    this.slot = -1;
    this.previous = null;
    this.next = null;
  }

  data(): void {}

  writable(): void {}

  aborted(): void {
    this.#owner.left(this);
  }
}

export class RunWaits {
  readonly #ports: RunWaitPorts;
  readonly #wheel: DeadlineWheel<Waiter>;
  readonly #byRun = new Map<number, Set<Waiter>>();
  #size = 0;
  /** True once the server stops: every request is answered at once. */
  #stopped = false;

  constructor(ports: RunWaitPorts) {
    this.#ports = ports;
    this.#wheel = new DeadlineWheel(
      () => ports.now(),
      ports.alarm,
      (waiter) => this.#expire(waiter),
    );
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.#size;
  }

  /** Answers a request for a run when what it waits for has happened, or when its time is over. */
  serve(exchange: Exchange, wait: RunWait): void {
    const { run, until, since } = wait;
    const ended = this.#ports.hasEnded(run);
    if (ended === null || wait.waitUs === 0 || (until === "ended" ? ended : false) || this.#isPast(run, until, since))
      this.#answer(exchange, run, 200);
    else if (this.#size >= RUN_WAITS_MAX) replyRefusal(exchange, refuse("busy"));
    else this.#park(exchange, wait, 200);
  }

  /** Answers the creation of a run when the run has ended or the time is over. `text` is the answer without waiting. */
  created(exchange: Exchange, text: string, waitUs: number): void {
    const { id: run } = JSON.parse(text) as { id: number };
    if (this.#stopped || this.#size >= RUN_WAITS_MAX || this.#ports.hasEnded(run) !== false) this.#answer(exchange, run, 201);
    else this.#park(exchange, { run, waitUs, until: "ended", since: null }, 201);
  }

  /** Wakes the requests for the runs that a commit names; `seamless` is false when earlier messages are missing. */
  published(stream: readonly Primitive[], seamless: boolean): void {
    if (this.#size === 0) return;
    if (!seamless) {
      this.#wakeAll();
      return;
    }
    for (let index = 0; index < stream.length; index += 2) {
      const code = stream[index];
      if (code !== RUN_UPDATED && code !== RUN_DELETED) continue;
      const run = Number(stream[index + 1]);
      if (this.#byRun.has(run)) this.#wake(run);
    }
  }

  /** Takes over the requests of a failed table, which may have missed changes. */
  takeOver(former: RunWaits): void {
    for (const [run, waiters] of former.#byRun) {
      for (const waiter of waiters) {
        waiter.moveTo(this);
        if (waiter.exchange.open) this.#add(waiter, run);
      }
    }
    former.#byRun.clear();
    former.#size = 0;
    former.#wheel.stop();
    this.#wakeAll();
  }

  /** Answers every request with its run as it is now. */
  stop(): void {
    this.#stopped = true;
    for (const waiters of this.#byRun.values()) for (const waiter of waiters) this.#expire(waiter);
    this.#wheel.stop();
  }

  /** The client disconnected. */
  left(waiter: Waiter): void {
    this.#wheel.remove(waiter);
    this.#remove(waiter);
  }

  /** True when the client's number does not belong to this stream any more, or the run has changed since. */
  #isPast(run: number, until: WaitUntil, since: number | null): boolean {
    if (this.#stopped) return true;
    if (since === null) return false;
    const { ring } = this.#ports;
    if (since > ring.latest || since < ring.oldest - 1) return true;
    for (let seq = since + 1; until === "changed" && seq <= ring.latest; seq += 1) {
      const entry = ring.at(seq);
      if (entry?.id === run && (entry.kind === "run.updated" || entry.kind === "run.deleted")) return true;
    }
    return false;
  }

  #park(exchange: Exchange, wait: RunWait, status: number): void {
    const waiter = new Waiter(this, exchange, wait, status, this.#ports.now());
    this.#add(waiter, wait.run);
    exchange.watch(waiter);
  }

  #add(waiter: Waiter, run: number): void {
    const waiters = this.#byRun.get(run);
    if (waiters === undefined) this.#byRun.set(run, new Set([waiter]));
    else waiters.add(waiter);
    this.#size += 1;
    this.#wheel.add(waiter, waiter.dueUs);
  }

  #remove(waiter: Waiter): void {
    const waiters = this.#byRun.get(waiter.run);
    if (waiters?.delete(waiter) !== true) return;
    this.#size -= 1;
    if (waiters.size === 0) this.#byRun.delete(waiter.run);
  }

  #wakeAll(): void {
    for (const run of [...this.#byRun.keys()]) this.#wake(run);
  }

  /** The run has changed, or may have. A failure costs its waiting requests: their clients ask again. */
  #wake(run: number): void {
    const waiters = this.#byRun.get(run) ?? [];
    try {
      const over = this.#ports.hasEnded(run) !== false;
      let text: string | null = null;
      for (const waiter of waiters) {
        if (!over && waiter.until === "ended") continue;
        text ??= this.#ports.render(run);
        this.#send(waiter.exchange, run, waiter.status, text);
        this.left(waiter);
      }
    } catch (cause) {
      for (const waiter of waiters) {
        this.left(waiter);
        waiter.exchange.cut();
      }
      this.#ports.defect(cause);
    }
  }

  #expire(waiter: Waiter): void {
    this.left(waiter);
    try {
      this.#answer(waiter.exchange, waiter.run, waiter.status);
    } catch (cause) {
      waiter.exchange.cut();
      this.#ports.defect(cause);
    }
  }

  #answer(exchange: Exchange, run: number, status: number): void {
    this.#send(exchange, run, status, this.#ports.render(run));
  }

  #send(exchange: Exchange, run: number, status: number, text: string | null): void {
    if (text === null) replyRefusal(exchange, refuse("run_not_found", run));
    else reply(exchange, status, `{"stream_seq":${this.#ports.ring.latest},${text.slice(1)}`);
  }
}
