/**
 * The work queue: ready runs by engine key, and the long-polls that wait for them.
 *
 * Order within a key: highest priority, then oldest scheduled time (or creation), then id. A run that lacks a resource waits
 * beside the queue of its key, under that resource, so skipping it costs nothing; it returns when some of the resource is
 * freed. Runs before their scheduled time wait by time. Only the next runs of a backfill are in the queue; the others wait in
 * a line behind it, so that no step scans a hundred thousand runs that wait for the same resource. Leaving a place only
 * increments the run's stamp; stale entries are dropped when encountered.
 */
import type { QueuePlace } from "#protocol/wire/figures";
import { backfillTag } from "./backfill.ts";
import { type Engine, type EngineKey, engineKey, type ParkedPoll } from "./engine.ts";
import { niceOf } from "./flow.ts";
import { PriorityQueue } from "./priority-queue.ts";
import { isExclusive, priorityOf, type Run, type WaitReason } from "./run.ts";

interface Entry {
  run: Run;
  stamp: number;
}

export interface KeyQueue {
  key: EngineKey;
  /** Ready runs that may share an engine. */
  ready: PriorityQueue<Entry>;
  /** Ready runs that need an engine without another run. */
  exclusive: PriorityQueue<Entry>;
  /** Runs that wait for a resource, by the resource's name. */
  blocked: Map<string, PriorityQueue<Entry>>;
  /** Requests for work of engines without a run, in order of arrival. */
  idlePolls: Set<ParkedPoll>;
  /** Those of engines that hold runs already, which get work after the others. */
  busyPolls: Set<ParkedPoll>;
  readyCount: number;
}

interface BackfillLine {
  /** The backfill's runs that are ready or blocked. */
  near: number;
  behind: PriorityQueue<Entry>;
  /** Wait reason of the newest runs in the line. */
  reason: WaitReason;
}

export class WorkQueue {
  /** By the text of their key. */
  readonly #keys = new Map<string, KeyQueue>();
  readonly #polls = new Map<number, ParkedPoll>();
  readonly #lines = new Map<number, BackfillLine>();
  /** Number of runs with a place: ready, blocked, behind, or aside for a later time. */
  #waiting = 0;
  readonly #byPlace: Record<QueuePlace, number> = { ready: 0, blocked: 0, behind: 0, future: 0, held: 0 };

  /** Number of runs waiting to be handed out. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The waiting runs by place. */
  get waitingByPlace(): Record<QueuePlace, number> {
    return { ...this.#byPlace };
  }

  /** Number of parked polls, and the items that they would take together. */
  parked(): { count: number; slots: number } {
    let slots = 0;
    for (const poll of this.#polls.values()) slots += poll.slots;
    return { count: this.#polls.size, slots };
  }

  keys(): IterableIterator<KeyQueue> {
    return this.#keys.values();
  }

  of(key: EngineKey): KeyQueue {
    let queue = this.#keys.get(key.text);
    if (queue === undefined) {
      queue = {
        key,
        ready: new PriorityQueue(isBefore),
        exclusive: new PriorityQueue(isBefore),
        blocked: new Map(),
        idlePolls: new Set(),
        busyPolls: new Set(),
        readyCount: 0,
      };
      this.#keys.set(key.text, queue);
    }
    return queue;
  }

  /** Deletes the queues of keys without runs and polls. */
  forgetUnused(): void {
    for (const queue of this.#keys.values()) {
      if (queue.readyCount > 0 || hasPolls(queue)) continue;
      for (const [resource, waiting] of queue.blocked) if (peekLive(waiting) === undefined) queue.blocked.delete(resource);
      if (queue.blocked.size === 0) this.#keys.delete(queue.key.text);
    }
  }

  find(key: EngineKey): KeyQueue | undefined {
    return this.#keys.get(key.text);
  }

  /** Queues a run that can start now. */
  putReady(run: Run): KeyQueue {
    this.leave(run);
    run.place = "ready";
    this.#count(run.place, 1);
    this.#countNear(run, 1);
    const queue = this.of(engineKeyOf(run));
    (isExclusive(run) ? queue.exclusive : queue.ready).push({ run, stamp: run.placeStamp });
    queue.readyCount += 1;
    return queue;
  }

  /** Puts a run beside the queue until some of `resource` is freed. */
  putBlocked(run: Run, resource: string): void {
    this.leave(run);
    run.place = "blocked";
    this.#count(run.place, 1);
    this.#countNear(run, 1);
    const queue = this.of(engineKeyOf(run));
    let waiting = queue.blocked.get(resource);
    if (waiting === undefined) {
      waiting = new PriorityQueue(isBefore);
      queue.blocked.set(resource, waiting);
    }
    waiting.push({ run, stamp: run.placeStamp });
  }

  /** Counts a run as waiting outside the queue: before its time, or held. */
  putAside(run: Run, place: "future" | "held"): void {
    this.leave(run);
    run.place = place;
    this.#count(place, 1);
  }

  /** Puts a run of a backfill into the line behind the queue. Returns what it waits for. */
  putBehind(run: Run, nowUs: number): WaitReason {
    if (run.backfill_id === null) throw new Error(`run ${run.id} is of no backfill`);
    this.leave(run);
    run.place = "behind";
    this.#count(run.place, 1);
    const line = this.#lineOf(run.backfill_id);
    if (line.reason.sinceUs !== nowUs) line.reason = { ...line.reason, sinceUs: nowUs };
    line.behind.push({ run, stamp: run.placeStamp });
    return line.reason;
  }

  /** Takes the first run from the line behind the queue, or undefined. */
  takeBehind(backfillId: number): Run | undefined {
    const line = this.#lines.get(backfillId);
    const next = line === undefined ? undefined : peekLive(line.behind);
    if (next !== undefined) this.leave(next);
    else if (line?.near === 0) this.#lines.delete(backfillId);
    return next;
  }

  /** Number of the backfill's runs in the queue. */
  nearOf(backfillId: number): number {
    return this.#lines.get(backfillId)?.near ?? 0;
  }

  /** The backfills with runs in the queue or behind it. */
  backfills(): number[] {
    return [...this.#lines.keys()];
  }

  /** Takes a run out of its place. */
  leave(run: Run): void {
    if (run.place === "none") return;
    if (run.place === "ready") this.of(engineKeyOf(run)).readyCount -= 1;
    if (run.place === "ready" || run.place === "blocked") this.#countNear(run, -1);
    this.#count(run.place, -1);
    run.place = "none";
    run.placeStamp += 1;
  }

  /** The first ready run of a key for an engine that holds runs (`shared`), or for one that holds none. */
  first(queue: KeyQueue, shared: boolean): Run | undefined {
    const ready = peekLive(queue.ready);
    const alone = shared ? undefined : peekLive(queue.exclusive);
    return alone !== undefined && (ready === undefined || inOrder(alone, ready) < 0) ? alone : ready;
  }

  /** The first ready run of a key that needs an engine for itself, or undefined. */
  firstExclusive(queue: KeyQueue): Run | undefined {
    return peekLive(queue.exclusive);
  }

  /** The first waiting run that `mayStart` accepts, for each resource that blocks runs of a key. */
  *firstBlocked(queue: KeyQueue, mayStart: (run: Run) => boolean): Generator<Run> {
    for (const waiting of queue.blocked.values()) {
      const passedOver: Entry[] = [];
      let first = peekLive(waiting);
      while (first !== undefined && !mayStart(first)) {
        passedOver.push(waiting.pop() as Entry);
        first = peekLive(waiting);
      }
      for (const entry of passedOver) waiting.push(entry);
      if (first !== undefined) yield first;
    }
  }

  /** Runs of a key that wait for `resource`, in order, if `fits` accepts them; stops once `isLeft` is false. */
  *freed(queue: KeyQueue, resource: string, fits: (run: Run) => boolean, isLeft: () => boolean): Generator<Run> {
    const waiting = queue.blocked.get(resource);
    if (waiting === undefined) return;
    const passedOver: Entry[] = [];
    for (let run = peekLive(waiting); run !== undefined && isLeft(); run = peekLive(waiting)) {
      const entry = waiting.pop();
      if (entry === undefined) break;
      if (fits(run)) yield run;
      else passedOver.push(entry);
    }
    for (const entry of passedOver) waiting.push(entry);
    if (waiting.size === 0) queue.blocked.delete(resource);
  }

  #countNear({ backfill_id }: Run, by: 1 | -1): void {
    if (backfill_id !== null) this.#lineOf(backfill_id).near += by;
  }

  #count(place: QueuePlace, change: number): void {
    this.#waiting += change;
    this.#byPlace[place] += change;
  }

  #lineOf(backfillId: number): BackfillLine {
    let line = this.#lines.get(backfillId);
    if (line === undefined) {
      const reason: WaitReason = { code: "resource", object: backfillTag(backfillId), sinceUs: 0 };
      line = { near: 0, behind: new PriorityQueue(isBefore), reason };
      this.#lines.set(backfillId, line);
    }
    return line;
  }

  /** Parks a request for up to `slots` items; `exchange` is the number of an exchange, null for a poll. */
  park(engine: Engine, command: number, exchange: number | null = null, slots = 1): ParkedPoll {
    const poll: ParkedPoll = { command, engine, exchange, slots, stops: [], remindUs: 0 };
    engine.poll = poll;
    this.#polls.set(command, poll);
    const queue = this.of(engine.key);
    if (slots > 0) (engine.runs.size === 0 ? queue.idlePolls : queue.busyPolls).add(poll);
    return poll;
  }

  /** The waiting requests of a key, in the order in which they get work. */
  pollsFor(key: EngineKey): Iterable<ParkedPoll> {
    const queue = this.#keys.get(key.text);
    return queue === undefined ? [] : pollsOf(queue);
  }

  /** The parked poll of a command, if it is still parked. */
  pollOf(command: number): ParkedPoll | undefined {
    return this.#polls.get(command);
  }

  /** All parked polls. */
  polls(): IterableIterator<ParkedPoll> {
    return this.#polls.values();
  }

  unpark(poll: ParkedPoll): void {
    this.#polls.delete(poll.command);
    const queue = this.of(poll.engine.key);
    queue.idlePolls.delete(poll);
    queue.busyPolls.delete(poll);
    if (poll.engine.poll === poll) poll.engine.poll = null;
  }
}

/** The ready runs of a key, in no order; some may have left. */
export function readyEntries({ ready, exclusive }: KeyQueue): Entry[] {
  return [...exclusive.items(), ...ready.items()];
}

export function hasPolls({ idlePolls, busyPolls }: KeyQueue): boolean {
  return idlePolls.size + busyPolls.size > 0;
}

/** The parked requests of a key in the order in which they get work: engines without a run first, so that runs spread. */
export function* pollsOf({ idlePolls, busyPolls }: KeyQueue): Generator<ParkedPoll> {
  yield* idlePolls;
  yield* busyPolls;
}

/** The key of the engines that can execute a run. */
export function engineKeyOf(run: Run): EngineKey {
  const { source_dir, module, options } = run.flow;
  return engineKey({ source_dir, module, isolated: options.isolated, nice: niceOf(priorityOf(run)) });
}

function peekLive(heap: PriorityQueue<Entry>): Run | undefined {
  for (let entry = heap.peek(); entry !== undefined; entry = heap.peek()) {
    if (entry.stamp === entry.run.placeStamp) return entry.run;
    heap.pop();
  }
  return undefined;
}

function isBefore(a: Entry, b: Entry): boolean {
  return inOrder(a.run, b.run) < 0;
}

/** Order of hand-out: highest priority, then oldest scheduled time (or creation), then id. */
export function inOrder(a: Run, b: Run): number {
  const byPriority = priorityOf(b) - priorityOf(a);
  if (byPriority !== 0) return byPriority;
  const aUs = a.scheduled_time ?? a.created_at;
  const bUs = b.scheduled_time ?? b.created_at;
  return aUs === bUs ? a.id - b.id : aUs - bUs;
}
