/**
 * Backfills in memory: those created since the start of the core and those with unfinished runs, with the counts of their
 * runs.
 */
import type { Command } from "#protocol/wire/command";
import type { Run } from "./run.ts";

export interface Backfill {
  id: number;
  external_id: string;
  flow_id: number;
  parameter: string;
  start_value: string;
  end_value: string;
  interval_secs: number;
  concurrency: number;
  total: number;
  /** Canonical JSON text. */
  extraText: string;
  cancelled: boolean;
  /** During a cancel: the highest run id that the cancel has reached. Otherwise null. */
  cancelledThrough: number | null;
  /** False while the backfill's runs wait for the flow's bulk-completion check. */
  prefiltered: boolean;
  created_at: number;
  /** The backfill's runs by state name. */
  counts: Map<string, number>;
}

/** A backfill that is being cancelled in slices. */
export interface OpenCancel {
  /** Commands that are answered at the end. */
  readonly commands: Command[];
  /** The highest id of an unfinished run at the start of the cancel. */
  readonly lastRun: number;
  /** The step that made the newest slice; 0 if an earlier start of the core made it. */
  wroteTurn: number;
  /** True while the message for the next slice is on its way. */
  called: boolean;
}

/** The tag of a backfill's runs, which is also the resource that limits them and their creator. */
export function backfillTag(id: number): string {
  return `backfill:${id}`;
}

/** The backfill with this tag or resource, or null. */
export function backfillOfTag(name: string): number | null {
  const id = /^backfill:(\d+)$/.exec(name)?.[1];
  return id === undefined ? null : Number(id);
}

/** Counts a run's move between states by name; null stands for before its creation and after its deletion. */
export function countMove({ counts }: Backfill, from: string | null, to: string | null): void {
  if (from === to) return;
  if (from !== null) {
    const left = (counts.get(from) ?? 0) - 1;
    if (left > 0) counts.set(from, left);
    else counts.delete(from);
  }
  if (to !== null) counts.set(to, (counts.get(to) ?? 0) + 1);
}

export class BackfillBook {
  readonly #backfills = new Map<number, Backfill>();

  get(id: number): Backfill | undefined {
    return this.#backfills.get(id);
  }

  all(): IterableIterator<Backfill> {
    return this.#backfills.values();
  }

  add(backfill: Backfill): void {
    this.#backfills.set(backfill.id, backfill);
  }

  removeFlow(flowId: number): void {
    for (const backfill of this.#backfills.values()) if (backfill.flow_id === flowId) this.#backfills.delete(backfill.id);
  }

  /** Whether a run waits for the bulk-completion check of its backfill, or for being cancelled with it. */
  holds(run: Run): boolean {
    const backfill = run.backfill_id === null ? undefined : this.#backfills.get(run.backfill_id);
    if (backfill === undefined) return false;
    const { prefiltered, cancelledThrough } = backfill;
    return !prefiltered || (cancelledThrough !== null && run.id > cancelledThrough);
  }
}
