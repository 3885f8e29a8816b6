/** Reports of a run: collects items, sends them in order and resends them until the server has taken them. */

import type { ParkReport } from "#protocol/records/durable";
import type { ReportResponse, WorkItem } from "#protocol/records/engine";
import { isTerminal, type State } from "#protocol/records/state";
import type { StepsStored } from "../durable/durable-services.ts";
import type { ReportItem } from "../execution/report-item.ts";
import type { PartTrace } from "../tracing/run-trace.ts";
import type { HeldRun, ReportAnswer } from "./run-channel.ts";

/** Longest delay of a report item. */
const FLUSH_MS = 100;

/** Items and log lines of one request: the most that engines of this protocol send. */
const REQUEST_ITEMS_MAX = 5_000;

/**
 * Bytes of one request, unless one item is larger. V8 keeps texts of more than 128 KiB apart until a full collection: requests of
 * megabytes made an engine grow by 40 MB more while it passed on output.
 */
const REQUEST_BYTES_MAX = 100_000;

/** Log lines per item, and the characters after which a new item begins. */
const LINES_PER_ITEM_MAX = 100;
const CHARS_PER_ITEM_MAX = 50_000;

/** Characters that the runs of an engine keep while the server is away; beyond that, log lines are dropped and counted, and the log reports the number. */
const KEPT_CHARS_MAX = 128_000_000;

/** A park takes part in a report of at most so much. */
const PARK_BESIDE_CHARS_MAX = 16_000;

/** Approximate size of an item without its text. */
const ITEM_CHARS = 200;

/** The run leaves this engine until one of its waits has settled. */
export type ParkItem = Omit<ParkReport, "seq"> & { progress: Progress };

/** Where the attempts of a run go on after it has left an engine. */
export interface Progress {
  /** The number of the attempt that goes on or begins. */
  attempt: number;
  /** Begin and end of each attempt in microseconds; the end of the latest is null until another follows. */
  times: [number, number | null][];
  /** How long the attempt has executed, of its time limit. */
  ran_us: number;
  /** Of a run that is traced. */
  trace?: PartTrace;
}

/** A move of the run itself. */
interface RunTransition {
  kind: "run_transition";
  state: State;
}

interface Entry {
  seq: number;
  item: ReportItem | RunTransition | ParkItem;
  /** Number of log lines, else 1. */
  count: number;
  chars: number;
}

/** The outcome of a move of the run. */
export type TransitionAnswer =
  | { kind: "accepted" }
  /** The run is in another state than requested: `current`. */
  | { kind: "refused"; current: string; error: string }
  | { kind: "gone" };

/** Notifications about the answers to reports. */
export interface ReportWatcher {
  cancelRequested(): void;
  /** The run no longer exists, or no report was accepted for ten minutes. */
  gone(reason: string): void;
  complain(text: string): void;
  /** Steps of a durable run are committed, or, with an error, never will be. */
  stored(steps: StepsStored): void;
  /** The number of waiting characters changed by this much. Returns that of all runs. */
  waiting(chars: number): number;
}

/**
 * Reports the items of one assignment of a run: in order, numbered from 1, one request at a time, each item until the server
 * has taken it.
 */
export class Reporter {
  readonly #server: HeldRun;
  readonly #item: WorkItem;
  readonly #watcher: ReportWatcher;
  readonly #queue: Entry[] = [];
  /** Waiting progress bars and other updated artifacts, by id: an update replaces the version that was not sent yet. */
  readonly #artifacts = new Map<string, Entry>();
  #seq = 0;
  /** Entries at the head of the queue that are being sent. */
  #inFlight = 0;
  #chars = 0;
  #dropped = 0;
  #itemsMax = REQUEST_ITEMS_MAX;
  /** The newest move of the run, until its answer. */
  #move: { entry: Entry; settle(answer: TransitionAnswer): void } | null = null;
  #timer: NodeJS.Timeout | null = null;
  #pump: Promise<void> | null = null;
  #closed = false;

  constructor(server: HeldRun, item: WorkItem, watcher: ReportWatcher) {
    this.#server = server;
    this.#item = item;
    this.#watcher = watcher;
  }

  add(items: readonly ReportItem[]): void {
    if (this.#closed) return;
    for (const item of items) this.#enqueue(item);
    // The code of the run waits for the commit of its step.
    if (items.some(({ kind }) => kind === "step")) void this.flush();
    else if (this.#timer === null && this.#pump === null) this.#timer = setTimeout(() => void this.flush(), FLUSH_MS);
  }

  /** Reports moves of the run after everything added so far. Resolves with the outcome of the last move. */
  async move(states: readonly State[]): Promise<TransitionAnswer> {
    for (const state of states) this.#enqueue({ kind: "run_transition", state });
    return await this.#moved();
  }

  /** Reports after everything added so far that the run leaves the engine. */
  async park(item: ParkItem): Promise<TransitionAnswer> {
    // A report that the server applies in slices cannot hold it.
    if (this.#chars > PARK_BESIDE_CHARS_MAX) await this.flush();
    this.#enqueue(item);
    return await this.#moved();
  }

  async #moved(): Promise<TransitionAnswer> {
    const entry = this.#queue.at(-1);
    if (this.#closed || entry === undefined) return { kind: "gone" };
    const answered = new Promise<TransitionAnswer>((settle) => {
      this.#move = { entry, settle };
    });
    await this.flush();
    return answered;
  }

  /** Resolves when the server has taken everything added so far, or the run is gone. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#queue.length > 0 && !this.#closed) {
      this.#pump ??= this.#send().finally(() => {
        this.#pump = null;
      });
      await this.#pump;
    }
  }

  /** Accepts and sends nothing more. */
  close(): void {
    this.#closed = true;
    this.#weigh(-this.#chars);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#queue.length = 0;
    this.#settleMove({ kind: "gone" });
  }

  #enqueue(item: Entry["item"]): void {
    const chars = charsOf(item);
    if (item.kind === "logs") {
      if (this.#isFull) {
        this.#dropped += item.logs.length;
        return;
      }
      const last = this.#queue.length > this.#inFlight ? this.#queue.at(-1) : undefined;
      if (last?.item.kind === "logs" && last.count < LINES_PER_ITEM_MAX && last.chars < CHARS_PER_ITEM_MAX) {
        last.item.logs.push(...item.logs);
        last.count += item.logs.length;
        last.chars += chars;
        this.#weigh(chars);
        return;
      }
    }
    if (item.kind === "artifact") {
      const waiting = this.#artifacts.get(item.external_id);
      if (waiting !== undefined) {
        waiting.item = item;
        return;
      }
    }
    this.#seq += 1;
    const count = item.kind === "logs" ? item.logs.length : 1;
    const entry: Entry = { seq: this.#seq, item, count, chars };
    if (item.kind === "artifact") this.#artifacts.set(item.external_id, entry);
    this.#queue.push(entry);
    this.#weigh(chars);
  }

  /** Sends the head of the queue. */
  async #send(): Promise<void> {
    const texts = this.#takeHead();
    let answer: ReportAnswer;
    try {
      answer = await this.#server.report(texts, this.#isLast());
    } catch (error) {
      this.#giveUp(`reports do not reach the server: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    const sent = this.#inFlight;
    this.#inFlight = 0;
    switch (answer.kind) {
      case "applied":
        if (answer.fenced === true && this.#holdsDurable(sent)) {
          this.#giveUp("another engine has been given the run");
          return;
        }
        this.#noteMove(sent, answer.runState);
        this.#noteSteps(sent, answer);
        this.#remove(sent);
        this.#noteDropped();
        if (answer.cancel) this.#watcher.cancelRequested();
        return;
      case "gone":
        this.#giveUp(`the run is gone: ${answer.reason}`);
        return;
      case "too-large":
      case "refused":
        this.#isolate(sent, answer.kind === "refused" ? answer.error : "413 too large");
        return;
      default:
        answer satisfies never;
    }
  }

  /** Whether with the entries being sent the run ends or leaves the engine. */
  #isLast(): boolean {
    return this.#queue.slice(0, this.#inFlight).some(({ item }) => isLeaving(item));
  }

  /** The JSON texts of as many entries as fit into one request; at least one. */
  #takeHead(): string[] {
    const texts: string[] = [];
    let count = 0;
    let bytes = 0;
    for (const entry of this.#queue) {
      const { kind, ...rest } = entry.item;
      const text = JSON.stringify({ kind, seq: entry.seq, ...rest });
      count += entry.count;
      bytes += Buffer.byteLength(text) + 1;
      if (texts.length > 0 && (count > this.#itemsMax || bytes > REQUEST_BYTES_MAX)) break;
      texts.push(text);
      if (entry.item.kind === "artifact") this.#artifacts.delete(entry.item.external_id);
    }
    this.#inFlight = texts.length;
    return texts;
  }

  /** Resends a rejected request in halves until the rejected item is alone; that item is dropped. */
  #isolate(sent: number, error: string): void {
    if (sent > 1) {
      const counts = this.#queue.slice(0, Math.ceil(sent / 2)).reduce((sum, entry) => sum + entry.count, 0);
      this.#itemsMax = Math.min(counts, this.#itemsMax - 1);
      return;
    }
    const entry = this.#queue[0];
    if (entry?.item.kind === "logs" && entry.item.logs.length > 1) {
      const half = entry.item.logs.splice(Math.ceil(entry.item.logs.length / 2));
      entry.count = entry.item.logs.length;
      // The second half gets its number in #renumber: numbers only have to grow.
      this.#queue.splice(1, 0, { seq: entry.seq + 0, item: { kind: "logs", logs: half }, count: half.length, chars: 0 });
      this.#renumber();
      return;
    }
    if (entry === this.#move?.entry) this.#settleMove({ kind: "refused", current: "", error });
    this.#remove(1);
    if (entry?.item.kind === "step") this.#watcher.stored({ identities: [entry.item.identity], error });
    this.#watcher.complain(
      `run ${this.#item.run_id}: an item of its report was refused and is lost (${entry?.item.kind}): ${error}`,
    );
    this.#itemsMax = REQUEST_ITEMS_MAX;
  }

  /** Numbers the waiting entries consecutively again; none of them was ever accepted. */
  #renumber(): void {
    let seq = this.#queue[0]?.seq ?? this.#seq + 1;
    for (const entry of this.#queue) {
      entry.seq = seq;
      seq += 1;
    }
    this.#seq = seq - 1;
  }

  #remove(count: number): void {
    for (const entry of this.#queue.splice(0, count)) this.#weigh(-entry.chars);
  }

  #weigh(chars: number): void {
    this.#chars += chars;
    this.#watcher.waiting(chars);
  }

  /** Settles the move: the run is in the requested state, or the move was refused. */
  #noteMove(sent: number, now: ReportResponse["run_state"]): void {
    const item = this.#move?.entry.item;
    if (item === undefined || !this.#queue.slice(0, sent).some((entry) => entry.item === item)) return;
    const accepted = item.kind === "park" ? hasLeft(now) : item.kind === "run_transition" && isState(now, item.state);
    const current = now?.type ?? "";
    this.#settleMove(accepted ? { kind: "accepted" } : { kind: "refused", current, error: `the run is ${now?.name ?? "gone"}` });
  }

  /** Whether the report has what only counts under the lease of the run. */
  #holdsDurable(sent: number): boolean {
    return this.#queue.slice(0, sent).some(({ item }) => item.kind === "step" || item.kind === "park");
  }

  #noteSteps(sent: number, { appliedAt, settledWait }: Extract<ReportAnswer, { kind: "applied" }>): void {
    const identities: string[] = [];
    for (const { item } of this.#queue.slice(0, sent)) if (item.kind === "step") identities.push(item.identity);
    if (identities.length > 0) this.#watcher.stored({ identities, error: null, appliedAt, settledWait });
  }

  #settleMove(answer: TransitionAnswer): void {
    this.#move?.settle(answer);
    this.#move = null;
  }

  /** Whether the runs of the engine keep so much that further log lines are dropped. */
  get #isFull(): boolean {
    return this.#watcher.waiting(0) > KEPT_CHARS_MAX;
  }

  #noteDropped(): void {
    if (this.#dropped === 0 || this.#queue.length > 0 || this.#isFull) return;
    const message = `${this.#dropped} log lines were dropped while the server could not be reached`;
    this.#dropped = 0;
    const line = { run_id: this.#item.run_id, task_run_id: null, task_run_external_id: null, level: 30, logger: "millrace.run" };
    this.#enqueue({ kind: "logs", logs: [{ ...line, timestamp: Date.now() * 1000, message }] });
  }

  #giveUp(reason: string): void {
    this.close();
    this.#watcher.gone(reason);
  }
}

function isLeaving(item: Entry["item"]): boolean {
  if (item.kind === "park") return true;
  return item.kind === "run_transition" && (isTerminal(item.state.type) || item.state.type === "Paused");
}

type RunState = ReportResponse["run_state"];

function isState(now: RunState, { type, name, timestamp }: State): boolean {
  return now?.type === type && now.name === name && now.timestamp === timestamp;
}

/** A run that waits for the end of its sleep, or one that a settled wait has queued again. */
function hasLeft(now: RunState): boolean {
  return now?.type === "Scheduled" || now?.type === "Paused";
}

function charsOf(item: Entry["item"]): number {
  if (item.kind === "step") return ITEM_CHARS + (item.value?.length ?? 0);
  if (item.kind === "logs") return item.logs.reduce((sum, line) => sum + line.message.length + ITEM_CHARS, 0);
  return ITEM_CHARS;
}
