/**
 * Reports that are applied slice by slice. The next slice waits until the one before is committed, so no commit grows with the
 * report, and other commands are decided in between. What else is said about the run meanwhile waits behind it, because numbers
 * only grow: a later report that overtook it would make the rest of it look old.
 *
 * Nothing of this is stored. After a restart the gateway sends the whole report again, and what was applied is skipped.
 */
import type { Command } from "#protocol/command";
import type { ReportEvent } from "#protocol/engine";
import { DISPATCHER } from "../names.ts";
import type { Turn } from "../turn.ts";
import type { ReportSlice } from "./messages.ts";

/** Whose report it is, and about which run. */
export interface ReportHead {
  engine_id: string;
  run_id: number;
  lease: number | null;
}

export interface OpenReport {
  readonly command: Command;
  readonly head: ReportHead;
  /** Events in all slices. */
  readonly count: number;
  /** Checked events, each list read when it is its turn. */
  readonly slices: readonly (() => readonly ReportEvent[])[];
  /** Index of the slice that is to be applied next. */
  next: number;
  /** Events applied so far. */
  applied: number;
  /** It has moves of its run among its events: the answer tells the state. */
  movesRun: boolean;
  /** The step that applied the newest slice; 0 when nothing of it was new. */
  wroteTurn: number;
  /** The message that will apply the next slice is on its way. */
  called: boolean;
  /** Commands about the same run, in the order they came. */
  readonly behind: Command[];
}

export function newReport(command: Command, head: ReportHead, count: number, slices: OpenReport["slices"]): OpenReport {
  return { command, head, count, slices, next: 0, applied: 0, movesRun: false, wroteTurn: 0, called: false, behind: [] };
}

export class OpenReports {
  readonly #byRun = new Map<number, OpenReport>();

  get size(): number {
    return this.#byRun.size;
  }

  add(report: OpenReport): void {
    this.#byRun.set(report.head.run_id, report);
  }

  /** Puts one back that still has commands behind it; behind another one, if the run has a new report by now. */
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

  /** Lets a command wait for the report about its run; false when there is none. */
  putBehind(runId: number, command: Command): boolean {
    const report = this.#byRun.get(runId);
    report?.behind.push(command);
    return report !== undefined;
  }

  /** Calls for the next slice of each report whose last one is committed, or for what waits behind it, as steps of their own. */
  callNext(turn: Turn, committedTurn: number): void {
    for (const report of this.#byRun.values()) {
      const hasSlice = report.next < report.slices.length;
      if (report.called || (hasSlice && report.wroteTurn > committedTurn)) continue;
      report.called = true;
      // The command that the step decides: it is answered when the step fails.
      const { id, epoch } = hasSlice ? report.command : (report.behind[0] ?? report.command);
      turn.out.send(DISPATCHER, { kind: "ReportSlice", id, epoch, run_id: report.head.run_id } satisfies ReportSlice);
    }
  }
}
