/**
 * One life of the server's process on one thread: the real tree, supervisor, hosts, cores and writers, wired by actors/specs
 * as on the server's threads, with queues in place of the links. The scheduler advances the process through `choices`.
 */

import type { DispatchSettings } from "#actors/core/state/live-state";
import type { DispatchGroup } from "#actors/dispatch-group/dispatch-group";
import {
  DISPATCHER,
  EXPECTATION_TIMER,
  GATEWAY,
  LEASE_MANAGER,
  LISTENING,
  LOG_WRITER,
  OUTBOUND,
  RECORDS,
  REGISTERED,
  RULE_ENGINE,
  RULE_READER,
  SCHEDULER,
  SERVER_LOG,
  STORE_WRITER,
} from "#actors/names";
import type { ServerFacts } from "#actors/records/server-info";
import type { RuleQuestion } from "#actors/rule-engine/rule-messages";
import { coreThread } from "#actors/specs/core-thread";
import { outboundActor } from "#actors/specs/outbound";
import { writerThread } from "#actors/specs/writer-thread";
import type { GenerationRequest } from "#actors/store-writer/commit-client";
import type { OpenedStore } from "#actors/store-writer/store-writer";
import { placementOf, TREE } from "#actors/tree";
import { committedAnswers } from "#protocol/wire/feed";
import type { ActorSpec } from "#runtime/actor";
import { type Endpoint, Host } from "#runtime/host";
import { actorsOn, namesOn, type Placement, threadOf, threadsOf } from "#runtime/placement";
import { type Control, Supervisor } from "#runtime/supervisor";
import { EXIT_REPORTS, type ExitReport } from "#runtime/thread";
import { runQuery } from "#storage/queries/named";
import { IN_MEMORY, openReadHandle } from "#storage/read/read-handle";
import { Statements } from "#storage/sqlite/statements";
import type { Batch } from "#storage/write/batch";
import type { WriterOptions } from "#storage/write/writer";
import { type Fault, SIMULATED } from "./fault-plan.ts";
import { LinkQueue } from "./link-queue.ts";
import type { ModelOutside } from "./model-outside.ts";
import type { Mutation } from "./mutation-tools.ts";
import type { Random } from "./random.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { SimulatedStore, type StoreSurroundings } from "./simulated-store.ts";
import type { SimulatedTime } from "./simulated-time.ts";
import type { Trace } from "./trace.ts";

type ThreadName = "main" | "core" | "writer" | "gateway";
/** Of the processes in which the core shares the gateway's thread. */
const SHARED_CHANCE = 0.3;
const CORE_ENDS_TOO: Fault = "store-writer throws and core ends after commit";

/** The server's environment. */
export interface Surroundings {
  time: SimulatedTime;
  random: Random;
  disk: SimulatedDisk;
  trace: Trace;
  /** The actors of the main and the gateway thread, created for each process. */
  gateway: ActorSpec;
  engineProcesses: ActorSpec;
  outside: ModelOutside;
  /** True: the reader ends instead of answering. */
  readingFails(): boolean;
  settings(): DispatchSettings;
  isAlive(pid: number): boolean;
  committed: StoreSurroundings["committed"];
  takeCommitFault: StoreSurroundings["takeFault"];
  hasDefect: StoreSurroundings["hasDefect"];
  mutation: Mutation | null;
  /** The tree gave up, or did not start: the process ends. */
  gaveUp(error: Error): void;
  restarted(names: readonly string[], error: Error): void;
  coreStarted(): void;
  /** An actor threw without being made to. */
  defect(actor: string, error: Error): void;
  /** Passes a batch to the writer; a mutation may change or drop it. */
  sends(message: Batch | GenerationRequest, server: SimulatedServer): boolean;
}

interface Thread {
  host: Host;
  up: boolean;
  starts: number;
  clear(): void;
}

/** A possible next step for the scheduler. */
export interface Choice {
  what: string;
  take(): void;
}

export class SimulatedServer implements Control {
  readonly #around: Surroundings;
  readonly #startedAt: number;
  /** By the monotonic clock. */
  readonly #startedUs: number;
  readonly #placement: Placement;
  readonly #threads = new Map<ThreadName, Thread>();
  readonly #links = new Map<string, LinkQueue>();
  readonly #supervisor: Supervisor;
  /** Called when a thread ends while one of its actors starts. */
  readonly #startsCut = new Map<ThreadName, Set<(error: Error) => void>>();
  readonly #armed = new Map<string, Fault>();
  #store: SimulatedStore | null = null;
  #dead = false;
  /** Pending promises of the supervisor: while there are any, the scheduler lets them run. */
  pending = 0;
  /** Messages handled by actors. */
  handled = 0;
  group: DispatchGroup | null = null;
  /** Callback for a fault that an actor has just committed. */
  committedFault: ((fault: Fault) => void) | null = null;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#startedAt = around.time.nowUs();
    this.#startedUs = around.time.monotonicUs();
    this.#supervisor = new Supervisor(TREE, this, around.time, {
      restarted: (names, error) => around.restarted(names, error),
      gaveUp: (error) => this.#gaveUp(error),
    });
    this.#placement = placementOf(around.random.chance(SHARED_CHANCE) ? "two" : "three", new URL(import.meta.url));
    const names = this.#names;
    for (const from of names) {
      for (const to of names)
        if (from !== to) this.#links.set(`${from}>${to}`, new LinkQueue(from, to, () => around.time.monotonicUs()));
    }
    for (const name of names) this.#open(name);
  }

  get #names(): ThreadName[] {
    return threadsOf(this.#placement) as ThreadName[];
  }

  get #hasCoreThread(): boolean {
    return threadOf(this.#placement, DISPATCHER) === "core";
  }

  /** As in `server/main.ts`, a start that fails ends the process. */
  begin(): void {
    this.#track(this.#supervisor.start().catch((cause: unknown) => this.#gaveUp(cause as Error)));
  }

  get isDead(): boolean {
    return this.#dead;
  }

  sendFrom(thread: "gateway" | "main", to: string, message: unknown): void {
    if (this.#dead) return;
    const { host } = this.#thread(thread);
    host.send(to, message);
    host.flushEndpoints();
  }

  /** Sends the answers of a batch to the gateway before its commit: only for a mutation. */
  answerAtOnce(batch: Batch): void {
    const { host } = this.#thread(threadOf(this.#placement, DISPATCHER) as ThreadName);
    host.send(GATEWAY, committedAnswers(batch.replies));
  }

  /** All possible next steps of this process. */
  choices(): Choice[] {
    const choices: Choice[] = [];
    if (this.#dead) return choices;
    const nowUs = this.#around.time.monotonicUs();
    for (const [name, thread] of this.#threads) {
      if (!thread.up) continue;
      for (const actor of thread.host.runnable()) choices.push({ what: actor, take: () => this.#step(name, actor) });
    }
    for (const link of this.#links.values()) {
      const thread = this.#thread(link.to as ThreadName);
      if (link.waiting === 0 || link.stalledUntilUs > nowUs || !thread.up) continue;
      choices.push({ what: "link", take: () => link.deliver(thread.host) });
    }
    return choices;
  }

  /** Ends every thread's turn. */
  flush(): void {
    for (const thread of this.#threads.values()) if (thread.up) thread.host.flushEndpoints();
  }

  /** True when nothing is in flight between the actors and no fault is pending: every decision is committed. */
  get isSettled(): boolean {
    if (this.#store?.isCommitOpen === true || this.isFenced) return false;
    if (this.pending > 0 || this.#armed.has(LOG_WRITER) || this.#armed.has(STORE_WRITER)) return false;
    return this.choices().length === 0 && [...this.#links.values()].every((link) => link.waiting === 0);
  }

  /** True while another process owns the store. */
  get isFenced(): boolean {
    return this.#store !== null && this.#store.owner.epoch !== this.#around.disk.epoch;
  }

  /** Makes the actor throw in its next step that suits this fault; false when the process has no thread for this fault. */
  arm(actor: string, fault: Fault): boolean {
    if (fault === CORE_ENDS_TOO && !this.#hasCoreThread) return false;
    this.#armed.set(actor, fault);
    return true;
  }

  /** False when there is none. A thread of core and gateway ends only with the process: its clients notice the same. */
  endThread(name: "core" | "writer"): boolean {
    const thread = this.#threads.get(name);
    if (thread?.up !== true) return false;
    this.#close(name);
    // A thread that ends while sending has sent to all others up to the same time.
    const outgoing = [...this.#links.values()].filter((link) => link.from === name);
    const arrivedUs = Math.max(...outgoing.map((link) => link.deliveredUs));
    const onTheWayUs = outgoing.flatMap((link) => link.sentUs).filter((sentUs) => sentUs > arrivedUs);
    const untilUs = this.#around.random.pick([arrivedUs, ...onTheWayUs]);
    for (const link of outgoing) link.cut(untilUs);
    for (const link of this.#links.values()) if (link.to === name) link.cut(-1);
    if (name === "writer") this.#around.disk.rollBack();
    const error = new Error(`thread ${name} ended`);
    for (const reject of this.#startsCut.get(name) ?? []) reject(error);
    this.#startsCut.delete(name);
    for (const actor of actorsOn(this.#placement, name)) this.#exited({ name: actor, message: error.message, counted: true });
    return true;
  }

  stall(untilUs: number): void {
    this.#around.random.pick([...this.#links.values()]).stalledUntilUs = untilUs;
  }

  /** Faults have stopped: continues everything that is stalled. */
  calm(): void {
    this.#armed.clear();
    for (const link of this.#links.values()) link.stalledUntilUs = 0;
  }

  /** The process ends at once. */
  kill(): void {
    this.#dead = true;
    for (const name of this.#names) this.#close(name);
    this.#around.disk.rollBack();
  }

  async start(name: string): Promise<void> {
    if (this.#dead) return new Promise(() => undefined);
    const threadName = threadOf(this.#placement, name) as ThreadName;
    if (!this.#thread(threadName).up) this.#open(threadName);
    const cut = Promise.withResolvers<void>();
    const cuts = this.#startsCut.get(threadName) ?? new Set();
    this.#startsCut.set(threadName, cuts.add(cut.reject));
    await Promise.race([this.#thread(threadName).host.start(name), cut.promise]);
    cuts.delete(cut.reject);
  }

  async stop(name: string, shutdownMs: number): Promise<void> {
    const thread = this.#thread(threadOf(this.#placement, name) as ThreadName);
    if (thread.up && !this.#dead) await Promise.race([thread.host.stop(name), this.sleep(shutdownMs)]);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#around.time.after(delayMs * 1000, resolve));
  }

  #step(thread: ThreadName, actor: string): void {
    const { host } = this.#thread(thread);
    this.handled += 1;
    host.step(actor);
    if (this.#around.random.chance(0.5)) host.flushEndpoints();
  }

  #thread(name: ThreadName): Thread {
    const thread = this.#threads.get(name);
    if (thread === undefined) throw new Error(`no thread ${name}`);
    return thread;
  }

  #open(name: ThreadName): void {
    const starts = (this.#threads.get(name)?.starts ?? 0) + 1;
    const around = this.#around;
    const alarm = around.time.createAlarm();
    const host: Host = new Host({
      clock: this.#around.time,
      alarm,
      defer: () => undefined,
      exited: (actor, error) => {
        const report: ExitReport = { name: actor, message: error.message, counted: true };
        if (error.message !== SIMULATED) around.defect(actor, error);
        if (name === "main") this.#exited(report);
        else host.send(EXIT_REPORTS, report);
      },
    });
    this.#threads.set(name, { host, up: true, starts, clear: () => alarm.clear() });
    for (const peer of this.#names) {
      if (peer === name) continue;
      const link = this.#links.get(`${name}>${peer}`);
      if (link === undefined) continue;
      for (const remote of namesOn(this.#placement, peer)) host.attach(remote, this.#endpointOf(link, remote));
    }
    const specs = this.#specs(name, host, starts);
    for (const spec of specs) host.register(this.#withFaults(spec));
    for (const actor of actorsOn(this.#placement, name)) {
      if (!specs.some((spec) => spec.name === actor)) host.register(idle(actor));
    }
  }

  /** A mutation may change or drop what goes to the log writer. */
  #endpointOf(link: LinkQueue, remote: string): Endpoint {
    const endpoint = link.endpointOf(remote);
    if (remote !== LOG_WRITER) return endpoint;
    const deliver: Endpoint["deliver"] = (message, lane) => {
      if (this.#around.sends(message as Batch | GenerationRequest, this)) endpoint.deliver(message, lane);
    };
    return { ...endpoint, deliver };
  }

  #close(name: ThreadName): void {
    const thread = this.#thread(name);
    thread.up = false;
    thread.clear();
  }

  #specs(name: ThreadName, host: Host, starts: number): ActorSpec[] {
    switch (name) {
      case "core":
        return this.#coreSpecs(host, starts);
      case "writer":
        return writerThread(host, { threadStarts: starts, open: (options) => this.#openStore(options) });
      case "gateway":
        return [...(this.#hasCoreThread ? [] : this.#coreSpecs(host, starts)), this.#around.gateway];
      case "main":
        host.attach(EXIT_REPORTS, { deliver: (report) => this.#exited(report as ExitReport) });
        for (const name of [LISTENING, REGISTERED]) host.attach(name, { deliver: () => undefined });
        host.attach(SERVER_LOG, { deliver: () => undefined });
        return [this.#around.engineProcesses, this.#outbound(host)];
    }
  }

  #coreSpecs(host: Host, starts: number): ActorSpec[] {
    const { time, random, disk, isAlive } = this.#around;
    this.#around.coreStarted();
    const { specs, group } = coreThread(host, {
      nowUs: () => time.nowUs(),
      uptimeUs: () => time.monotonicUs() - this.#startedUs,
      bootUs: () => time.bootUs(),
      ids: { uuid: () => random.uuid(time.nowUs()), random: () => random.next() },
      openStore: () => new Statements(openReadHandle(IN_MEMORY, disk.database)),
      openReaders: () => ({ ask: (question) => this.#read(question), close: async () => undefined }),
      settings: this.#around.settings(),
      facts: factsOf(this.#startedAt),
      isAlive,
      threadStarts: starts,
    });
    this.group = group;
    return specs;
  }

  /** Reader threads answer after a while, or end during a request. */
  #read({ query, args }: RuleQuestion): Promise<string> {
    const { time, random, disk } = this.#around;
    return new Promise((resolve, reject) => {
      time.after(random.delayUs(3_000), () => {
        if (this.#around.readingFails()) reject(new Error("the reader ended"));
        else resolve(runQuery(new Statements(disk.database), query, args as never) ?? "");
      });
    });
  }

  #outbound(host: Host): ActorSpec {
    return outboundActor(host, () => ({
      deliver: (request, stopped) => this.#around.outside.deliver(request, stopped),
      close: async () => undefined,
      concurrentMax: 256,
    }));
  }

  #openStore(options: WriterOptions): OpenedStore {
    const { disk } = this.#around;
    const problem = (): string | null => (disk.refusal === "taken" ? "simulated: the files were taken" : null);
    const files = { problem, note: () => undefined, clear: () => undefined };
    this.#store = new SimulatedStore(
      {
        disk,
        mutation: this.#around.mutation,
        after: (then) => void this.#around.time.after(this.#around.random.delayUs(500_000), then),
        takeFault: () => this.#around.takeCommitFault(),
        hasDefect: this.#around.hasDefect,
        committed: this.#around.committed,
      },
      options,
    );
    return { store: this.#store, files };
  }

  /** An armed fault makes the actor throw before or after its step, according to the fault or by chance. */
  #withFaults(spec: ActorSpec): ActorSpec {
    const start: ActorSpec["start"] = async (context, out) => {
      const actor = await spec.start(context, out);
      return {
        receive: (message, outbox) => {
          const fault = this.#armed.get(spec.name);
          if (fault === undefined || isNoCommit(message)) return actor.receive(message, outbox);
          this.#armed.delete(spec.name);
          const after = fault.endsWith("after commit") || (!fault.endsWith("before commit") && this.#around.random.chance(0.5));
          if (after) actor.receive(message, outbox);
          if (fault === CORE_ENDS_TOO) this.endThread("core");
          this.#around.trace.add(`${spec.name} throws ${after ? "after" : "before"} its step`);
          this.committedFault?.(fault);
          throw new Error(SIMULATED);
        },
        stop: (failed) => actor.stop?.(failed),
      };
    };
    return { ...spec, start };
  }

  #exited({ name, message, counted }: ExitReport): void {
    if (this.#dead) return;
    this.#around.trace.add(`supervisor: ${name} exited: ${message}`);
    this.#track(this.#supervisor.exited(name, new Error(message), counted));
  }

  #gaveUp(error: Error): void {
    if (!this.#dead) this.#around.gaveUp(error);
  }

  #track(work: Promise<void>): void {
    this.pending += 1;
    void work.finally(() => {
      this.pending -= 1;
    });
  }
}

/** Replaces an actor without effects visible to a simulation, such as one that only maintains files. */
function idle(name: string): ActorSpec {
  return { name, start: () => ({ receive: () => undefined }) };
}

/** Messages of the writer that cause no commit. */
function isNoCommit(message: unknown): boolean {
  const { kind } = message as { kind?: string };
  return kind === "Probe" || kind === "Look" || kind === "ReportGeneration" || kind === "FeedRead";
}

/** The faults that make an actor throw, with that actor. */
export const THROWING: Partial<Record<Fault, string>> = {
  "dispatcher throws": DISPATCHER,
  "leases throws": LEASE_MANAGER,
  "records throws": RECORDS,
  "scheduler throws": SCHEDULER,
  "rules throws": RULE_ENGINE,
  "rule-reader throws": RULE_READER,
  "expectations throws": EXPECTATION_TIMER,
  "outbound throws": OUTBOUND,
  "log-writer throws": LOG_WRITER,
  "store-writer throws before commit": STORE_WRITER,
  "store-writer throws after commit": STORE_WRITER,
  "store-writer throws and core ends after commit": STORE_WRITER,
};

function factsOf(startedAt: number): ServerFacts {
  return {
    version: "0.0.0",
    pid: 1000,
    home: "/home",
    servedDir: null,
    startedAt,
    storeName: IN_MEMORY,
    emailConfigured: false,
    liveFlows: new Set(),
    customRoutes: [],
    codeProblems: [],
    codeReloaded: null,
    host: "127.0.0.1",
    port: 4270,
    url: "",
    listening: () => undefined,
    storeSizes: () => ({ database: 0, wal: 0 }),
    secrets: { present: false, seal: (text) => text, open: (sealed) => sealed, sign: (text) => text.replaceAll(" ", "-") },
    writeSettings: () => undefined,
    changedSettings: new Set(),
  };
}
