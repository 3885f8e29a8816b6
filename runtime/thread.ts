/**
 * Worker threads: how main starts a thread, connects it with the others and controls its host.
 *
 * The control plane (connect, start, stop, figures) is comlink calls; messages between actors use links (link.ts). When a
 * thread ends unexpectedly, each of its actors is reported as exited.
 */
import { setTimeout } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { MessageChannel, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { expose, type Remote, transfer, wrap } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { ActorFigures, ActorSpec } from "./actor.ts";
import { assert } from "./assert.ts";
import { type Clock, systemClock } from "./clock.ts";
import { Host, type Stall } from "./host.ts";
import { Link } from "./link.ts";
import { LoopDelay } from "./loop-delay.ts";
import { actorsOn, namesOn, type Placement, threadOf, threadsOf } from "./placement.ts";
import type { Control } from "./supervisor.ts";
import { memoryOf, type ThreadMemory } from "./thread-memory.ts";
import { createSystemAlarm } from "./timers.ts";

/**
 * Wait for a former port to close. The port closes once everything the ended thread sent has been read. A port that the
 * thread never took over, because it ended first, does not close.
 */
const DRAIN_MS = 500;

/**
 * Heap of each thread for short-lived objects, which are almost everything a message allocates. A small heap stays in the
 * processor's cache: with 8 instead of 16 MB a loaded server takes 17 MB less, with 16 instead of the default of 48 MB 20 MB
 * less, and no more CPU per run.
 */
const YOUNG_GENERATION_MB = 8;

/** The name to which worker threads report exits of their actors. */
export const EXIT_REPORTS = "exit-reports";

export interface ExitReport {
  name: string;
  message: string;
  /** False when the restart is no sign of a defect and does not count towards the supervisor's intensity. */
  counted: boolean;
}

/** Figures of one thread, or of threads that it owns together. */
export interface ThreadFigures extends ThreadMemory {
  thread: string;
  /** Delays of the event loop since the thread was first asked for them; null before, and for threads that another one owns. */
  loop_delay: ReturnType<LoopDelay["delays"]["figures"]> | null;
}

/** Figures of the actors of a thread, of the thread itself and of the threads that it owns. */
interface HostFigures {
  actors: ActorFigures[];
  own: Omit<ThreadFigures, "thread">;
  owned: ThreadFigures[];
}

/** The figures of all threads. */
export interface AllFigures {
  actors: ActorFigures[];
  threads: ThreadFigures[];
}

/** The calls that main makes to a thread. */
interface ThreadControl {
  connect(peer: string, names: string[], port: MessagePort): Promise<void>;
  drop(names: string[]): void;
  start(name: string): Promise<void>;
  stop(name: string): Promise<void>;
  kill(name: string, reason: string): void;
  figures(loops: boolean): Promise<HostFigures>;
  close(): void;
}

/** The host of a thread and its links. */
export class ThreadHost implements ThreadControl {
  readonly host: Host;
  readonly #links = new Map<string, { link: Link; closed: Promise<void> }>();
  readonly #atClose: (() => void)[] = [];
  readonly #clock: Clock;
  readonly #owned = new Map<string, () => Promise<ThreadMemory>>();
  #loop: LoopDelay | null = null;
  #close: () => void;
  #stalled: (stall: Stall) => void = () => undefined;

  constructor(exited: (name: string, error: Error) => void, close: () => void, clock: Clock = systemClock) {
    this.#close = close;
    this.#clock = clock;
    this.host = new Host({
      clock,
      alarm: createSystemAlarm(),
      defer: (turn) => setImmediate(turn),
      exited,
      stalled: (stall) => this.#stalled(stall),
    });
  }

  /**
   * Connects a peer thread. The former link to that peer is drained first, so that none of its messages is lost or overtaken.
   */
  async connect(peer: string, names: string[], port: MessagePort): Promise<void> {
    const former = this.#links.get(peer);
    if (former !== undefined) {
      await Promise.race([former.closed, setTimeout(DRAIN_MS)]);
      former.link.close();
    }
    const closed = new Promise<void>((resolve) => port.once("close", resolve));
    const link = new Link(port, this.host);
    this.#links.set(peer, { link, closed });
    for (const name of names) this.host.attach(name, link.endpointOf(name));
  }

  /**
   * Messages to these actors are dropped until their thread, which is down, is linked: as on a link to a thread that has ended.
   */
  drop(names: string[]): void {
    for (const name of names) this.host.attach(name, { deliver: () => undefined });
  }

  /** Sets the listener for work that held the thread for too long. */
  onStall(stalled: (stall: Stall) => void): void {
    this.#stalled = stalled;
  }

  /** Registers a release of resources that outlive the actors, for when the thread ends. */
  atClose(release: () => void): void {
    this.#atClose.push(release);
  }

  /** Names the threads that this one owns, beside those of the placement: their memory is theirs together. */
  owns(threads: string, memory: () => Promise<ThreadMemory>): void {
    this.#owned.set(threads, memory);
  }

  start(name: string): Promise<void> {
    return this.host.start(name);
  }

  stop(name: string): Promise<void> {
    return this.host.stop(name);
  }

  kill(name: string, reason: string): void {
    this.host.kill(name, reason);
  }

  /** With `loops`, the delay of the event loop is measured from now on, which takes a timer. */
  async figures(loops: boolean): Promise<HostFigures> {
    if (loops) this.#loop ??= new LoopDelay(this.#clock);
    const loop_delay = this.#loop?.delays.figures() ?? null;
    const owned = [...this.#owned].map(async ([thread, memory]) => ({ thread, ...(await memory()), loop_delay: null }));
    return {
      actors: this.host.figures(),
      own: { ...memoryOf(getHeapStatistics()), loop_delay },
      owned: await Promise.all(owned),
    };
  }

  close(): void {
    for (const { link } of this.#links.values()) link.close();
    this.host.close();
    this.#loop?.stop();
    for (const release of this.#atClose) release();
    this.#close();
  }
}

/** Called once by the entry module of a worker thread, with the actors the thread can run. */
export function serveThread<Data>(setup: (data: Data, thread: ThreadHost) => ActorSpec[]): void {
  assert(parentPort !== null, "a thread entry runs on a worker thread only");
  const port = parentPort;
  const thread: ThreadHost = new ThreadHost(
    (name, error) => thread.host.send(EXIT_REPORTS, { name, message: error.message, counted: true } satisfies ExitReport),
    () => port.close(),
  );
  const specs = setup(workerData as Data, thread);
  for (const spec of specs) thread.host.register(spec);
  // An uncaught error that ended the thread would end the process if native handles are open, so crash its actors instead.
  process.on("uncaughtException", (cause) => {
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    for (const spec of specs) thread.host.kill(spec.name, reason);
  });
  const control: ThreadControl = {
    connect: (peer, names, peerPort) => thread.connect(peer, names, peerPort),
    drop: (names) => thread.drop(names),
    start: (name) => thread.start(name),
    stop: (name) => thread.stop(name),
    kill: (name, reason) => thread.kill(name, reason),
    figures: (loops) => thread.figures(loops),
    close: () => thread.close(),
  };
  expose(control, nodeEndpoint(port));
}

/** An actor failed; `counted` as in ExitReport. */
type Exited = (name: string, error: Error, counted: boolean) => void;

interface RunningThread {
  control: ThreadControl | Remote<ThreadControl>;
  worker: Worker | null;
  up: boolean;
  /** The thread has links to all others. */
  linked: boolean;
  /** Rejects when the thread ends, because a call in progress would then never return. */
  ended: Promise<never>;
}

/** All threads of a placement, seen from main: the control interface of the supervisor. */
export class Threads implements Control {
  readonly main: ThreadHost;
  readonly #placement: Placement;
  readonly #data: object;
  readonly #exited: Exited;
  readonly #starts = new Map<string, number>();
  readonly #threads = new Map<string, RunningThread>();
  #linking: Promise<unknown> = Promise.resolve();
  #closing = false;
  #watchesLoops = false;

  constructor(placement: Placement, data: object, exited: Exited) {
    this.#placement = placement;
    this.#data = data;
    this.#exited = exited;
    this.main = new ThreadHost(
      (name, error) => exited(name, error, true),
      () => undefined,
    );
    this.main.host.attach(EXIT_REPORTS, {
      deliver: (message) => {
        const report = message as ExitReport;
        exited(report.name, new Error(report.message), report.counted);
      },
    });
    this.#threads.set("main", { control: this.main, worker: null, up: true, linked: true, ended: new Promise(() => undefined) });
  }

  /** Starts every thread and links them before any actor runs. */
  async open(): Promise<void> {
    const threads = threadsOf(this.#placement);
    // The threads load their code in parallel; linking is sequential.
    for (const thread of threads) this.#spawn(thread);
    for (const thread of threads) await this.#ensure(thread);
  }

  async start(name: string): Promise<void> {
    const thread = await this.#ensure(threadOf(this.#placement, name));
    await Promise.race([thread.control.start(name), thread.ended]);
  }

  async stop(name: string, shutdownMs: number): Promise<void> {
    const thread = this.#threads.get(threadOf(this.#placement, name));
    if (!thread?.up) return;
    await Promise.race([thread.control.stop(name), this.sleep(shutdownMs), thread.ended.catch(() => undefined)]);
  }

  sleep(delayMs: number): Promise<void> {
    return setTimeout(delayMs, undefined, { ref: false });
  }

  async kill(name: string, reason: string): Promise<void> {
    await this.#threads.get(threadOf(this.#placement, name))?.control.kill(name, reason);
  }

  /** Terminates a worker thread at once, like a crash: for fault tests, never for the gateway's thread. */
  async terminate(thread: string): Promise<void> {
    await this.#threads.get(thread)?.worker?.terminate();
  }

  /** From now on, the figures have the delays of the event loops. */
  watchLoops(): void {
    this.#watchesLoops = true;
  }

  async figures(): Promise<AllFigures> {
    const up = [...this.#threads].filter(([, thread]) => thread.up);
    const asked = up.map(async ([thread, { control, ended }]) => {
      const figures = await Promise.race([control.figures(this.#watchesLoops), ended.catch(() => null)]);
      return figures === null ? null : { ...figures, threads: [{ thread, ...figures.own }, ...figures.owned] };
    });
    const known = (await Promise.all(asked)).filter((figures) => figures !== null);
    return { actors: known.flatMap(({ actors }) => actors), threads: known.flatMap(({ threads }) => threads) };
  }

  /** Lets every thread end by itself; the actors have been stopped before. */
  async close(): Promise<void> {
    this.#closing = true;
    const ended: Promise<unknown>[] = [];
    for (const { worker, control, up } of this.#threads.values()) {
      if (!up) continue;
      if (worker) ended.push(new Promise((resolve) => worker.once("exit", resolve)));
      // Not awaited: the thread closes the port that would carry the response.
      void control.close();
    }
    await Promise.all(ended);
  }

  /** Links one thread at a time: two threads linking each other concurrently could each keep an end of a different channel. */
  #ensure(name: string): Promise<RunningThread> {
    const ready = this.#linking.then(() => this.#startThread(name));
    this.#linking = ready.catch(() => undefined);
    return ready;
  }

  async #startThread(name: string): Promise<RunningThread> {
    const thread = this.#spawn(name);
    if (thread.linked) return thread;
    await this.#connect(name, thread);
    thread.linked = true;
    return thread;
  }

  /** The thread of this name; starts it if it does not run. */
  #spawn(name: string): RunningThread {
    const known = this.#threads.get(name);
    if (known?.up) return known;
    const threadStarts = (this.#starts.get(name) ?? 0) + 1;
    this.#starts.set(name, threadStarts);
    const worker = new Worker(this.#placement.entry, {
      workerData: { ...this.#data, thread: name, threadStarts },
      name,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    const thread: RunningThread = {
      control: wrap<ThreadControl>(nodeEndpoint(worker)),
      worker,
      up: true,
      linked: false,
      ended: ended.promise,
    };
    let failure = new Error(`thread ${name} ended`);
    worker.on("error", (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    worker.on("exit", () => {
      ended.reject(failure);
      this.#ended(name, thread, failure);
    });
    this.#threads.set(name, thread);
    return thread;
  }

  /** Links the new thread with each running thread, both ends concurrently. A thread that is down is linked when it starts. */
  async #connect(name: string, thread: RunningThread): Promise<void> {
    for (const peer of threadsOf(this.#placement)) {
      const other = this.#threads.get(peer);
      if (peer === name) continue;
      const namesThere = namesOn(this.#placement, peer);
      if (!other?.up || !other.linked) {
        await Promise.race([thread.control.drop(namesThere), thread.ended]);
        continue;
      }
      const { port1, port2 } = new MessageChannel();
      const there = other.control.connect(name, namesOn(this.#placement, name), transfer(port2, [port2]));
      await Promise.all([
        Promise.race([thread.control.connect(peer, namesThere, transfer(port1, [port1])), thread.ended]),
        // A peer that ends during this call is linked at its next start.
        Promise.race([there, other.ended.catch(() => undefined)]),
      ]);
    }
  }

  #ended(name: string, thread: RunningThread, failure: Error): void {
    thread.up = false;
    if (this.#closing) return;
    for (const actor of actorsOn(this.#placement, name)) this.#exited(actor, failure, true);
  }
}
