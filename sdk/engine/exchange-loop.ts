/**
 * The conversation of an engine with its server: one request carries the reports of all its runs since the last one and asks
 * for further runs. While there is something to report, one exchange follows the other; else the server holds one until there
 * is work. Each exchange lists the runs that the engine holds, which replaces heartbeats.
 */
import { EXCHANGE_BYTES_MAX } from "#protocol/limits";
import type { WorkItem } from "#protocol/records/engine";
import type { ExchangeOutcome, ExchangeResponse } from "#protocol/records/exchange";
import type { HeldRun, ReportAnswer, RunChannel, RunWatcher } from "./run-channel.ts";
import type { ServerApi } from "./server-api.ts";

/** Bytes of reports in one exchange; larger reports are requests of their own, which the server cuts into slices. */
const PART_BYTES_MAX = EXCHANGE_BYTES_MAX / 4;
const EXCHANGE_EVENTS_BYTES_MAX = EXCHANGE_BYTES_MAX / 2;

/** Leases of ended runs that are remembered, because an answer under way may still name them. */
const ENDED_REMEMBERED_MAX = 4_096;

/** A report that waits for its exchange. */
interface Part {
  run: number;
  lease: number;
  events: string;
  returned: boolean;
  /** The run leaves its slot with this report. */
  ends: boolean;
  settle(answer: ReportAnswer): void;
  fail(error: unknown): void;
}

interface Held {
  lease: number;
  watcher: RunWatcher;
}

export interface ExchangeLoopOptions {
  /** How many further runs the engine takes once so many of its runs have ended. */
  slots(ending: number): number;
  /** Runs and jobs that the server hands out. */
  given(items: readonly WorkItem[]): void;
  /** A held run is given up after this long without a server, in ms. */
  lostMs: number;
}

export class ExchangeLoop implements RunChannel {
  readonly #api: ServerApi;
  readonly #options: ExchangeLoopOptions;
  readonly #held = new Map<number, Held>();
  readonly #ended = new Set<number>();
  readonly #parts: Part[] = [];
  #number = 0;
  #wake: (() => void) | null = null;
  #check = false;
  #reachedMs = performance.now();

  constructor(api: ServerApi, options: ExchangeLoopOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Number of runs that the engine holds. */
  get held(): number {
    return this.#held.size;
  }

  /** Time of the server's last answer (performance.now). */
  get reachedMs(): number {
    return this.#reachedMs;
  }

  hold(item: WorkItem, watcher: RunWatcher): HeldRun {
    const lease = item.lease ?? 0;
    const run = item.run_id;
    this.#held.set(run, { lease, watcher });
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
      this.#add({ run: item.run_id, lease, events: "", returned: true, ends: true, settle, fail });
    }).catch(() => undefined);
    this.#release(item.run_id, lease);
  }

  /** Sends an exchange at once: what the engine offers has changed, or it has to know what became of its runs. */
  wake(): void {
    this.#check = true;
    this.#wake?.();
  }

  /**
   * Exchanges until the server orders the engine to leave, or `signal` is aborted.
   * @throws the connection error of an exchange
   */
  async next(signal: AbortSignal): Promise<{ exit: boolean }> {
    // Everything that this turn of the event loop reports goes into one exchange.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#parts.length > 0 || this.#check) return await this.#carry(signal);
    return await this.#wait(signal);
  }

  /** An exchange that the server answers at once. */
  async #carry(signal: AbortSignal): Promise<{ exit: boolean }> {
    this.#check = false;
    const parts = this.#takeParts();
    try {
      const answer = await this.#send(parts, false, signal);
      this.#settle(parts, answer);
      return { exit: answer.exit };
    } catch (error) {
      for (const part of parts) part.fail(error);
      throw error;
    }
  }

  /** An exchange that the server may hold; ended early by something to report, which a newer exchange carries. */
  async #wait(signal: AbortSignal): Promise<{ exit: boolean }> {
    const woken = new Promise<null>((resolve) => {
      this.#wake = () => resolve(null);
    });
    const holding = this.#send([], true, signal);
    holding.catch(() => undefined);
    const answer = await Promise.race([holding, woken]);
    this.#wake = null;
    if (answer !== null) {
      this.#settle([], answer);
      return { exit: answer.exit };
    }
    // The server answers the held exchange when the newer one arrives; it may have handed something out before.
    const [carried, held] = await Promise.all([this.#carry(signal), holding]);
    this.#settle([], held);
    return { exit: carried.exit };
  }

  async #send(parts: readonly Part[], holds: boolean, signal: AbortSignal): Promise<ExchangeResponse> {
    this.#number += 1;
    const answer = await this.#api.exchange(
      {
        exchange: this.#number,
        slots: this.#options.slots(parts.filter(({ ends }) => ends).length),
        held: [...this.#held].map(([run_id, { lease }]) => ({ run_id, lease })),
        reports: parts.map(({ run, lease, returned }) => ({ run_id: run, lease, ...(returned ? { returned } : {}) })),
        ...(holds ? {} : { hold: false }),
      },
      parts.map(({ events }) => events),
      holds,
      signal,
    );
    this.#reachedMs = performance.now();
    return answer;
  }

  #settle(parts: readonly Part[], { runs, reports, stop }: ExchangeResponse): void {
    const outcomes = new Map(reports.map((outcome) => [outcome.run_id, outcome]));
    for (const part of parts) {
      const outcome = outcomes.get(part.run);
      // A report of this run that was a request of its own is still being applied.
      if (outcome?.status === 503) this.#parts.push(part);
      else part.settle(answerOf(outcome));
    }
    for (const { run_id, lease, reason } of stop) {
      const held = this.#held.get(run_id);
      if (held?.lease !== lease) continue;
      if (reason === "cancel") held.watcher.cancelRequested();
      else held.watcher.gone();
    }
    this.#options.given(runs.filter((item) => this.#isNew(item)));
  }

  /** False for a run that the engine has got already: two answers under way may give the same run. */
  #isNew({ run_id, lease }: WorkItem): boolean {
    if (lease == null) return true;
    return this.#held.get(run_id)?.lease !== lease && !this.#ended.has(lease);
  }

  #takeParts(): Part[] {
    let bytes = 0;
    const runs = new Set<number>();
    const end = this.#parts.findIndex(({ run, events }) => {
      bytes += events.length;
      const again = runs.has(run);
      runs.add(run);
      return again || (bytes > EXCHANGE_EVENTS_BYTES_MAX && runs.size > 1);
    });
    return this.#parts.splice(0, end === -1 ? this.#parts.length : end);
  }

  async #report(item: WorkItem, lease: number, events: string[], ends: boolean): Promise<ReportAnswer> {
    const text = events.join();
    if (text.length > PART_BYTES_MAX) return await this.#api.report(item, events);
    return await new Promise((settle, fail) => {
      this.#add({ run: item.run_id, lease, events: text, returned: false, ends, settle, fail });
    });
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
    this.wake();
  }

  /** Gives up the held runs: no server was reached for too long. */
  lose(): void {
    for (const { watcher } of this.#held.values()) watcher.lost();
  }
}

function answerOf(outcome: ExchangeOutcome | undefined): ReportAnswer {
  if (outcome === undefined) return { kind: "refused", error: "the server did not answer this report" };
  const { status, error = "", last_seq = 0, run_state } = outcome;
  if (status === undefined)
    return { kind: "applied", lastSeq: last_seq, cancel: run_state?.type === "Cancelling", runState: run_state };
  return status === 404 || status === 409 ? { kind: "gone" } : { kind: "refused", error };
}
