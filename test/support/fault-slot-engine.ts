/**
 * An engine of the fault load that holds many runs at a time. A report stays until an answer settles it, so a lost answer
 * repeats reports, and a run that is given twice is begun once.
 */
import type { Answer } from "./fault-load.ts";

/** Delay after which a held exchange ends, so that the load can be stopped. */
const IDLE_MS = 100;

interface ReportedEvent {
  kind: string;
  seq: number;
  [field: string]: unknown;
}

interface Held {
  run_id: number;
  lease: number;
  events: ReportedEvent[];
  isEnding: boolean;
}

interface Outcome {
  run_id: number;
  status?: number;
  run_state?: { type: string };
}

export interface SlotEngineOptions {
  identity: Record<string, unknown>;
  slots: number;
  /** Sends a request; null when its connection was cut. */
  ask(path: string, body: unknown): Promise<Answer | null>;
  /** The server has taken the end of this run. */
  completed(run: number): void;
}

export class FaultSlotEngine {
  readonly #options: SlotEngineOptions;
  readonly #held = new Map<number, Held>();
  #number = 0;

  constructor(options: SlotEngineOptions) {
    this.#options = options;
  }

  /** Serves until the signal. */
  async serve(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const reports = [...this.#held.values()];
      this.#number += 1;
      const answer = await this.#options.ask("/api/engine/exchange", {
        ...this.#options.identity,
        exchange: this.#number,
        slots: this.#options.slots - reports.length,
        held: reports.map(({ run_id, lease }) => ({ run_id, lease })),
        reports: reports.map(({ run_id, lease, events }) => ({ run_id, lease, events })),
        hold: false,
      });
      if (answer?.status !== 200) continue;
      const { body } = answer;
      for (const outcome of body["reports"] as Outcome[]) this.#settle(outcome);
      for (const { run_id } of body["stop"] as { run_id: number }[]) this.#held.delete(run_id);
      for (const item of body["runs"] as { run_id: number; lease: number }[]) this.#begin(item);
      if (this.#held.size === 0) await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    }
  }

  #begin({ run_id, lease }: { run_id: number; lease: number }): void {
    if (this.#held.get(run_id)?.lease === lease) return;
    this.#held.set(run_id, { run_id, lease, events: [move(1, "Pending"), move(2, "Running")], isEnding: false });
  }

  #settle({ run_id, status, run_state }: Outcome): void {
    const held = this.#held.get(run_id);
    // 503: the run is busy, and the report is sent again.
    if (held === undefined || status === 503) return;
    if (status !== undefined || held.isEnding) this.#held.delete(run_id);
    if (status !== undefined) return;
    if (held.isEnding) {
      if (run_state?.type === "Completed") this.#options.completed(run_id);
      return;
    }
    const line = { run_id, level: 20, logger: "fault", timestamp: Date.now() * 1000, message: "done" };
    held.isEnding = true;
    held.events = [{ kind: "logs", seq: 3, logs: [line] }, move(4, "Completed")];
  }
}

function move(seq: number, type: string): ReportedEvent {
  return { kind: "run_transition", seq, state: { type, name: type, timestamp: Date.now() * 1000, message: null, details: {} } };
}
