/** The user thread as the control thread sees it. */
import type { EventLoopUtilization } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { type Remote, wrap } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { State } from "#protocol/records/state";
import type { StepsStored } from "../durable/durable-services.ts";
import type { AttemptOutcome } from "../execution/attempt.ts";
import { Gauges } from "../execution/gauges.ts";
import type { ReportItem } from "../execution/report-item.ts";
import { isChanged, type LoadedFile } from "../modules/loaded-file.ts";
import type { TraceNote } from "../tracing/trace-note.ts";
import { logCharsOf } from "./item-batch.ts";
import { RunMap } from "./run-map.ts";
import { BLOCKED_MS } from "./start-gate.ts";
import { endedByError } from "./thread-end.ts";
import {
  type CodePlace,
  type Ended,
  type ImportedFile,
  type RunFacts,
  type RunNews,
  type RunOrder,
  TURNED,
  type UserThreadApi,
  type UserThreadData,
} from "./user-thread-api.ts";

/** A call whose answer the control of a run waits for. */
interface Waiting {
  onItems: (items: ReportItem[]) => void;
  onNote?: ((note: TraceNote) => void) | undefined;
  settle: (answer: AttemptOutcome | { hook: { error: string | null } } | Ended) => void;
}

/** The control thread's handle of the user thread, which can end at any moment. */
export class UserThread implements CodePlace {
  readonly api: Remote<UserThreadApi>;
  /** Code of an ended run goes on here. */
  lingers = false;
  readonly #worker: Worker;
  readonly #gauges: Gauges;
  readonly #files: LoadedFile[] = [];
  /** Calls that wait for an answer, by run; each is settled with the cause when the thread ends. */
  readonly #calls = new RunMap<Waiting>();
  /** Rare calls; settled likewise. */
  readonly #waiting = new Set<(ended: Ended) => void>();
  /** Wait for the answers to the orders `turn`. */
  readonly #turns: (() => void)[] = [];
  #endedMs = Number.NEGATIVE_INFINITY;
  #orders: RunOrder[] = [];
  #utilized: EventLoopUtilization | undefined;
  #ended: Ended | null = null;
  /** Why this side ends the thread. */
  #terminated: Ended | null = null;

  constructor(data: UserThreadData, heapMb: number | null) {
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    this.#gauges = new Gauges(data.gauges);
    this.#worker = new Worker(new URL(`./user-thread-main${extension}`, import.meta.url), {
      workerData: data,
      ...(heapMb === null ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMb } }),
    });
    this.api = wrap<UserThreadApi>(nodeEndpoint(this.#worker));
    let ended: Ended | null = null;
    this.#worker.on("message", (message: RunNews[] | typeof TURNED | ImportedFile | Ended | object) => {
      // News of runs are arrays, and the last message holds the cause of the end; everything else on this port is comlink's.
      if (Array.isArray(message)) this.#take(message);
      else if (message === TURNED) this.#turned();
      else if ("imported" in message) this.#files.push(message.imported);
      else if (isEnded(message)) ended = message;
    });
    this.#worker.on("error", (error: unknown) => {
      ended ??= endedBy(error);
    });
    this.#worker.on("exit", (code) => this.#end(ended ?? this.#terminated ?? endedWith(code)));
  }

  get alive(): boolean {
    return this.#ended === null;
  }

  /** Whether a file loaded here has changed since. Costs two microseconds per file. */
  isOutdated(): boolean {
    return this.#files.some(isChanged);
  }

  /** Whether a file loaded here was changed a moment before or is missing, so that the change may not be complete. */
  isFresh(): boolean {
    return this.#files.some(({ settled, target }) => !settled || target === "");
  }

  async execute(
    run: RunFacts,
    attempt: number,
    onItems: (items: ReportItem[]) => void,
    onNote?: (note: TraceNote) => void,
  ): Promise<AttemptOutcome | Ended> {
    const answer = await this.#call(run.id, { onItems, onNote }, { kind: "execute", run, attempt });
    if ("hook" in answer) throw new Error("the user thread answered a call of a flow with that of a hook");
    return answer;
  }

  async hook(run: RunFacts, state: State, onItems: (items: ReportItem[]) => void): Promise<string | null | Ended> {
    const answer = await this.#call(run.id, { onItems }, { kind: "hook", run, state });
    if ("hook" in answer) return answer.hook.error;
    if (answer.kind === "ended") return answer;
    throw new Error("the user thread answered a call of a hook with that of a flow");
  }

  stop(run: number, seconds: number | null): void {
    this.#order({ kind: "stop", run, seconds });
  }

  stored(run: number, steps: StepsStored): void {
    this.#order({ kind: "stored", run, steps });
  }

  abandon(run: number): void {
    this.#order({ kind: "abandon", run });
  }

  async responds(): Promise<boolean> {
    const limit = Promise.withResolvers<false>();
    const timer = setTimeout(() => limit.resolve(false), BLOCKED_MS);
    const responds = await Promise.race([this.turn().then(() => this.alive), limit.promise]);
    clearTimeout(timer);
    return responds;
  }

  /** Resolves once the thread has carried out all orders so far and has returned to its event loop, or has ended. */
  turn(): Promise<void> {
    if (this.#ended !== null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#turns.push(resolve);
      this.#order({ kind: "turn" });
    });
  }

  /** When the code of a run last ended here (performance.now). */
  get endedMs(): number {
    return this.#endedMs;
  }

  /** The share of time since the last call in which the thread executed code, from 0 to 1. */
  utilization(): number {
    const now = this.#worker.performance.eventLoopUtilization();
    const { utilization } = this.#worker.performance.eventLoopUtilization(now, this.#utilized);
    this.#utilized = now;
    return utilization;
  }

  /** The answer of a rare call on `api`, or the cause if the thread ends before that. */
  answered<T>(call: Promise<T>): Promise<T | Ended> {
    if (this.#ended !== null) return Promise.resolve(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      call.then(resolve, reject).finally(() => this.#waiting.delete(resolve));
    });
  }

  async terminate(run: number | null): Promise<void> {
    this.#terminated ??= { kind: "ended", cause: "the thread of the flow was ended", details: {}, run };
    await this.#worker.terminate();
  }

  #call(run: number, receiver: Omit<Waiting, "settle">, order: RunOrder): Promise<Parameters<Waiting["settle"]>[0]> {
    if (this.#ended !== null) return Promise.resolve(this.#ended);
    return new Promise((settle) => {
      this.#calls.set(run, { ...receiver, settle });
      this.#order(order);
    });
  }

  /** Orders of one turn leave as one message. */
  #order(order: RunOrder): void {
    if (this.#orders.push(order) > 1) return;
    queueMicrotask(() => {
      const orders = this.#orders;
      this.#orders = [];
      this.#worker.postMessage(orders);
    });
  }

  /** The only run whose code can have ended the thread; null if there are several. */
  #onlyRun(): number | null {
    const [run = null, second] = this.#calls.runs();
    return second === undefined && !this.lingers ? run : null;
  }

  /** Whether somebody waits for the code that ended the thread. */
  #isAwaited({ run }: Ended): boolean {
    if (run !== null) return this.#calls.has(run);
    return this.#calls.size > 0 || this.#waiting.size > 0;
  }

  #take(news: readonly RunNews[]): void {
    this.#gauges.addPosted(-logCharsOf(news));
    for (const each of news) {
      const call = this.#calls.get(each.run);
      if (call === undefined) continue;
      if ("items" in each) {
        call.onItems(each.items);
        continue;
      }
      if ("note" in each) {
        call.onNote?.(each.note);
        continue;
      }
      this.#calls.delete(each.run);
      this.#endedMs = performance.now();
      call.settle("outcome" in each ? each.outcome : each);
    }
  }

  /** Answers come in the order of their orders. */
  #turned(): void {
    this.#turns.shift()?.();
  }

  #end(cause: Ended): void {
    const ended = { ...cause, run: cause.run ?? this.#onlyRun() };
    this.#ended = ended;
    if (this.#terminated === null && !this.#isAwaited(ended)) printEnd(ended);
    this.#gauges.endPosted();
    for (const { settle } of this.#calls.values()) settle(ended);
    this.#calls.clear();
    for (const settle of this.#waiting) settle(ended);
    this.#waiting.clear();
    for (const settle of this.#turns.splice(0)) settle();
  }
}

/** No state of a run will have this cause, so the output of the engine has it. */
function printEnd({ cause, details, run }: Ended): void {
  const whose = run === null ? "code that belongs to no run" : `code of run ${run}, which had ended,`;
  const trace = details["traceback"];
  process.stderr.write(`millrace: ${whose} ended its thread: ${cause}\n${typeof trace === "string" ? `${trace}\n` : ""}`);
}

function isEnded(message: unknown): message is Ended {
  return typeof message === "object" && message !== null && "kind" in message && message.kind === "ended";
}

function endedWith(code: number): Ended {
  return { kind: "ended", cause: `the thread of the flow ended with code ${code}`, details: {}, run: null };
}

/** Ends that the thread could not report itself: a full heap, or a failed start. */
function endedBy(error: unknown): Ended {
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
    const cause = `out of memory: the JavaScript heap of the flow is full (${HEAP_ADVICE})`;
    return { kind: "ended", cause, details: { out_of_memory: true }, run: null };
  }
  return endedByError(error, "uncaught", null);
}

const HEAP_ADVICE = "NODE_OPTIONS=--max-old-space-size=MB for the server sets its size";
