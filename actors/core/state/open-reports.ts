/**
 * Reports that are applied slice by slice. Each slice waits for the commit of the slice before, so no commit grows with the
 * report, and other commands run in between. Other commands about the run wait behind the report, because report numbers only
 * grow: if a later report overtook this one, the rest of this one would be skipped as old.
 *
 * No progress is stored. After a restart the gateway resends the whole report, and events already applied are skipped.
 */

import type { ReportEvent } from "#protocol/records/engine";
import type { Command, CommandRef } from "#protocol/wire/command";
import type { Outbox } from "#runtime/effect";
import { DISPATCHER } from "../../names.ts";

/** The engine, run and lease of a report. */
export interface ReportHead {
  engine_id: string;
  run_id: number;
  lease: number | null;
}

export interface OpenReport {
  readonly command: Command<"Report">;
  readonly head: ReportHead;
  /** Events in all slices. */
  readonly count: number;
  /** Checked events; each list is read when it is applied. */
  readonly slices: readonly (() => readonly ReportEvent[])[];
  /** Index of the next slice. */
  next: number;
  /** Events applied so far. */
  applied: number;
  /** True when the report moves its run: then the answer includes the state. */
  movesRun: boolean;
  /** True when the report came under a lease that is over. */
  fenced: boolean;
  /** The step that applied the newest slice; 0 if the slice contained nothing new. */
  wroteTurn: number;
  /** True while the message for the next slice is on its way. */
  called: boolean;
  /** Commands about the same run, in order of arrival. */
  readonly behind: Command<"TransitionRun" | "Report">[];
}

/** Apply the next slice of a report, or the command that waits behind the report. */
export interface ReportSlice {
  kind: "ReportSlice";
  answers: CommandRef | null;
  run_id: number;
}

export function newReport(command: Command<"Report">, head: ReportHead, count: number, slices: OpenReport["slices"]): OpenReport {
  return {
    command,
    head,
    count,
    slices,
    next: 0,
    applied: 0,
    movesRun: false,
    fenced: false,
    wroteTurn: 0,
    called: false,
    behind: [],
  };
}

export class OpenReports {
  readonly #byRun = new Map<number, OpenReport>();

  get size(): number {
    return this.#byRun.size;
  }

  add(report: OpenReport): void {
    this.#byRun.set(report.head.run_id, report);
  }

  /** Adds a report back while commands wait behind it; if the run has another report now, they wait behind that one. */
  addAgain(report: OpenReport): void {
    const other = this.#byRun.get(report.head.run_id);
    if (other === undefined) this.add(report);
    else other.behind.push(...report.behind.splice(0));
  }

  find(runId: number): OpenReport | undefined {
    return this.#byRun.get(runId);
  }

  remove(report: OpenReport): void {
    if (this.#byRun.get(report.head.run_id) === report) this.#byRun.delete(report.head.run_id);
  }

  /** Queues a command behind the report about its run; false without a report. */
  putBehind(runId: number, command: Command<"TransitionRun" | "Report">): boolean {
    const report = this.#byRun.get(runId);
    report?.behind.push(command);
    return report !== undefined;
  }

  /**
   * Requests the next slice of each report whose last slice is committed, or the command waiting behind it, as separate
   * steps.
   */
  callNext(out: Outbox, committedTurn: number): void {
    for (const report of this.#byRun.values()) {
      const hasSlice = report.next < report.slices.length;
      if (report.called || (hasSlice && report.wroteTurn > committedTurn)) continue;
      report.called = true;
      const answers = hasSlice ? report.command : (report.behind[0] ?? null);
      out.send(DISPATCHER, { kind: "ReportSlice", answers, run_id: report.head.run_id } satisfies ReportSlice);
    }
  }
}
