/**
 * The conversation of an engine with its server: one request carries the reports of all its runs since the last one and asks
 * for further runs. While there is something to report, one exchange follows the other; else the server holds one until there
 * is work. Each exchange lists the runs that the engine holds, which replaces heartbeats.
 *
 * An exchange without an answer is not repeated: its reports go into the next one, because the server recognises reports that
 * it has applied already, and the next exchange lists what the engine holds by then.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { EXCHANGE_BYTES_MAX, EXCHANGE_REPORTS_MAX } from "#protocol/limits";
import type { WorkItem } from "#protocol/records/engine";
import type { ExchangeOutcome, ExchangeResponse, StopOrder } from "#protocol/records/exchange";
import type { SpanCounts } from "../tracing/span.ts";
import type { HeldRun, ReportAnswer, RunChannel, RunWatcher } from "./run-channel.ts";
import { RunMap } from "./run-map.ts";
import { type ServerApi, UnexpectedAnswer } from "./server-api.ts";

/** Bytes of reports in one exchange; larger reports are requests of their own, which the server cuts into slices. */
const PART_BYTES_MAX = EXCHANGE_BYTES_MAX / 4;
const EXCHANGE_EVENTS_BYTES_MAX = EXCHANGE_BYTES_MAX / 2;

/** Leases of ended runs that are remembered, because an answer under way may still name them. */
const ENDED_REMEMBERED_MAX = 4_096;

/**
 * Delay after a held exchange that was answered without news: while a run is being stopped, the server answers every exchange
 * that lists it at once.
 */
const NO_NEWS_MS = 250;

/** Delay of a report that has to wait for an earlier report of its run, which the server applies in slices. */
const BUSY_MS = 100;

/** Answers to a whole exchange that one of its reports may have caused. */
const CAUSED_BY_REPORT = new Set([400, 413, 422, 500]);

/** A report that waits for its exchange. */
interface Part {
  item: WorkItem;
  lease: number;
  events: string[];
  returned: boolean;
  /** The run leaves its slot with this report. */
  ends: boolean;
  settle(answer: ReportAnswer): void;
  fail(error: unknown): void;
}

/** A run is held from the answer that gives it, before the engine begins it. */
interface Held {
  run: number;
  lease: number;
  watcher: RunWatcher | null;
  /** The stop that was ordered. */
  stop: StopOrder["reason"] | null;
  /** The code of the run has returned, and a report that ends the run is on its way. */
  ending: boolean;
}

export interface ExchangeLoopOptions {
  /** How many further runs the engine takes once so many of its runs have ended. */
  slots(ending: number): number;
  /** For how long code has held the thread of the runs; null if that is not to be reported. */
  blockedMs(): number | null;
  /** Runs and jobs that the server hands out. */
  given(items: readonly WorkItem[]): void;
  /** Why the engine asks to be replaced; null if it does not. */
  replace?(): string | null;
  /** Counts of spans; those that an answered exchange carried are set to 0. */
  spans?(): SpanCounts | undefined;
}

/** Takes what the server has counted from the counts. */
function take(counts: SpanCounts, sent: SpanCounts): void {
  counts.exported -= sent.exported;
  counts.dropped -= sent.dropped;
}

export class ExchangeLoop implements RunChannel {
  readonly #api: ServerApi;
  readonly #options: ExchangeLoopOptions;
  readonly #held = new RunMap<Held>();
  readonly #ended = new Set<number>();
  readonly #parts: Part[] = [];
  #number = 0;
  /** Further runs that the server knows it may give: the slots of the newest exchange without the runs given since. */
  #free = 0;
  #wake: (() => void) | null = null;
  #check = false;
  #reachedMs = performance.now();

  constructor(api: ServerApi, options: ExchangeLoopOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Time of the server's last answer (performance.now). */
  get reachedMs(): number {
    return this.#reachedMs;
  }

  /** Further runs that the server may give without another exchange. */
  get free(): number {
    return this.#free;
  }

  hold(item: WorkItem, watcher: RunWatcher): HeldRun {
    const { run_id: run, lease } = item;
    // A job is no assignment: nothing of it can be stopped, and its reports are requests of their own.
    if (lease == null)
      return { report: (events) => this.#api.report(item, events), check: () => undefined, close: () => undefined };
    const stop = this.#held.get(run)?.stop ?? null;
    this.#held.set(run, { run, lease, watcher, stop, ending: false });
    if (stop !== null) tellStop(watcher, stop);
    return {
      report: (events, ends) => this.#report(item, lease, events, ends),
      check: () => this.wake(),
      close: () => this.#release(run, lease),
    };
  }

  /** Hands a run back that the engine has not begun. */
  async giveBack(item: WorkItem): Promise<void> {
    const lease = item.lease ?? 0;
    await new Promise<ReportAnswer>((settle, fail) => {
      this.#add({ item, lease, events: [], returned: true, ends: true, settle, fail });
    }).catch(() => undefined);
    this.#release(item.run_id, lease);
  }

  /** The engine may take more runs than before: sends an exchange at once, unless the server knows of all free slots. */
  freed(): void {
    if (this.#options.slots(0) > this.#free) this.wake();
  }

  /** Sends an exchange at once, for example to know what became of the runs. */
  wake(): void {
    this.#check = true;
    this.#wake?.();
  }

  /**
   * One exchange, after which the reports it carried are settled. `exit` is the server's order to leave.
   * @throws the connection error, the signal's reason, and an UnexpectedAnswer; the reports stay for the next exchange
   */
  async next(signal: AbortSignal): Promise<{ exit: boolean }> {
    // Everything that this turn of the event loop reports goes into one exchange.
    await new Promise((resolve) => setImmediate(resolve));
    try {
      return this.#parts.length > 0 || this.#check ? await this.#carry(signal) : await this.#wait(signal);
    } catch (error) {
      // The first exchange with a server that is back is answered at once.
      this.#check = true;
      throw error;
    }
  }

  /** Gives up the runs: no server was reached for too long. */
  lose(): void {
    for (const { watcher } of this.#held.values()) watcher?.lost();
    this.#held.clear();
    for (const part of this.#parts.splice(0)) part.fail(new Error("no server was reached"));
  }

  /** An exchange that the server answers at once. */
  async #carry(signal: AbortSignal): Promise<{ exit: boolean }> {
    this.#check = false;
    const parts = this.#takeParts();
    try {
      const answer = await this.#send(parts, false, signal);
      this.#settle(parts, answer);
      return answer;
    } catch (error) {
      if (error instanceof UnexpectedAnswer && CAUSED_BY_REPORT.has(error.status))
        for (const part of parts) this.#sendAlone(part);
      else this.#parts.unshift(...parts);
      throw error;
    }
  }

  /** An exchange that the server may hold; ended early by something to report, which a newer exchange carries. */
  async #wait(signal: AbortSignal): Promise<{ exit: boolean }> {
    const holding = this.#send([], true, signal);
    holding.catch(() => undefined);
    const answer = await this.#untilWoken(holding);
    if (answer !== null) {
      const isNews = this.#settle([], answer);
      if (!isNews && !answer.exit) await this.#untilWoken(sleep(NO_NEWS_MS));
      return answer;
    }
    const carried = await this.#carry(signal);
    // The server has answered the held exchange when the newer one arrived; it may have handed out a job or the exit before.
    const held = await holding.catch(() => null);
    if (held !== null) this.#settle([], held);
    return { exit: carried.exit || held?.exit === true };
  }

  /** Null as soon as there is something to report. */
  async #untilWoken<T>(event: Promise<T>): Promise<T | null> {
    const woken = Promise.withResolvers<null>();
    this.#wake = () => woken.resolve(null);
    try {
      return await Promise.race([event, woken.promise]);
    } finally {
      this.#wake = null;
    }
  }

  async #send(parts: readonly Part[], holds: boolean, signal: AbortSignal): Promise<ExchangeResponse> {
    this.#number += 1;
    const slots = this.#options.slots(parts.filter(({ ends }) => ends).length);
    this.#free = slots;
    const blockedMs = this.#options.blockedMs();
    const replace = this.#options.replace?.() ?? null;
    const spans = this.#options.spans?.();
    const sent = spans !== undefined && spans.exported + spans.dropped > 0 ? { ...spans } : undefined;
    const answer = await this.#api.exchange(
      {
        exchange: this.#number,
        slots,
        held: [...this.#held.values()].map(({ run, lease }) => ({ run_id: run, lease })),
        reports: parts.map(({ item, lease, returned }) => ({ run_id: item.run_id, lease, ...(returned ? { returned } : {}) })),
        ...(replace === null ? {} : { replace }),
        ...(holds ? {} : { hold: false }),
        ...(blockedMs === null ? {} : { blocked_secs: blockedMs / 1_000 }),
        ...(sent === undefined ? {} : { spans: sent }),
      },
      parts.map(({ events }) => events.join()),
      holds,
      signal,
    );
    this.#reachedMs = performance.now();
    if (spans !== undefined && sent !== undefined) take(spans, sent);
    return answer;
  }

  /** Passes on what an answer says; true if some of it is new. */
  #settle(parts: readonly Part[], { runs, reports, stop }: ExchangeResponse): boolean {
    const outcomes = new Map(reports.map((outcome) => [outcome.run_id, outcome]));
    for (const part of parts) {
      const outcome = outcomes.get(part.item.run_id);
      if (outcome?.status === 503) setTimeout(() => this.#add(part), BUSY_MS);
      else part.settle(answerOf(outcome));
    }
    const stopped = stop.filter((order) => this.#noteStop(order));
    const items = runs.filter((item) => this.#isNew(item));
    for (const { run_id, lease } of items)
      if (lease != null) this.#held.set(run_id, { run: run_id, lease, watcher: null, stop: null, ending: false });
    this.#free -= items.length;
    if (items.length > 0) this.#options.given(items);
    return parts.length + stopped.length + items.length > 0;
  }

  /** False for a stop that was ordered before, and when the server has the end of the run before the engine knows. */
  #noteStop({ run_id, lease, reason }: StopOrder): boolean {
    const held = this.#held.get(run_id);
    if (held?.lease !== lease || held.stop === reason) return false;
    if (held.ending && reason === "gone") return false;
    held.stop = reason;
    if (held.watcher !== null) tellStop(held.watcher, reason);
    return true;
  }

  /** False for a run that the engine has got already: two answers under way may give the same run. */
  #isNew({ run_id, lease }: WorkItem): boolean {
    if (lease == null) return true;
    return this.#held.get(run_id)?.lease !== lease && !this.#ended.has(lease);
  }

  /** As many waiting reports as fit into one exchange; at least one if there is any, and at most one of each run. */
  #takeParts(): Part[] {
    let bytes = 0;
    const runs = new Set<number>();
    const end = this.#parts.findIndex(({ item, events }) => {
      bytes += bytesOf(events);
      const again = runs.has(item.run_id);
      runs.add(item.run_id);
      return again || runs.size > EXCHANGE_REPORTS_MAX || (bytes > EXCHANGE_EVENTS_BYTES_MAX && runs.size > 1);
    });
    return this.#parts.splice(0, end === -1 ? this.#parts.length : end);
  }

  async #report(item: WorkItem, lease: number, events: string[], ends: boolean): Promise<ReportAnswer> {
    const held = this.#held.get(item.run_id);
    if (held?.lease === lease) held.ending = ends;
    if (bytesOf(events) > PART_BYTES_MAX) return await this.#api.report(item, events);
    return await new Promise((settle, fail) => {
      this.#add({ item, lease, events, returned: false, ends, settle, fail });
    });
  }

  /** Reports a part of a refused exchange as a request of its own, so that only the part at fault is refused. */
  #sendAlone({ item, events, returned, settle, fail }: Part): void {
    if (returned) settle({ kind: "gone", reason: "the exchange that hands the run back was refused" });
    else this.#api.report(item, events).then(settle, fail);
  }

  #add(part: Part): void {
    this.#parts.push(part);
    this.#wake?.();
  }

  #release(run: number, lease: number): void {
    if (this.#held.get(run)?.lease === lease) this.#held.delete(run);
    this.#ended.add(lease);
    for (const first of this.#ended) {
      if (this.#ended.size <= ENDED_REMEMBERED_MAX) break;
      this.#ended.delete(first);
    }
  }
}

function tellStop(watcher: RunWatcher, reason: StopOrder["reason"]): void {
  if (reason === "cancel") watcher.cancelRequested();
  else watcher.gone("the server answered an exchange that this engine does not hold the run");
}

function bytesOf(events: readonly string[]): number {
  return events.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
}

function answerOf(outcome: ExchangeOutcome | undefined): ReportAnswer {
  if (outcome === undefined) return { kind: "refused", error: "the server did not answer this report" };
  const { status, error = "", last_seq = 0, run_state, fenced = false } = outcome;
  const stored = { appliedAt: outcome.applied_at, settledWait: outcome.settled_wait };
  if (status === undefined)
    return {
      kind: "applied",
      lastSeq: last_seq,
      ...stored,
      cancel: run_state?.type === "Cancelling",
      runState: run_state,
      fenced,
    };
  return status === 404 || status === 409 ? { kind: "gone", reason: `${status} ${error}`.trim() } : { kind: "refused", error };
}
