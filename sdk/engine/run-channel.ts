/** The server as the control of one run sees it: reports go there, and stops come from there. */
import type { ReportResponse, WorkItem } from "#protocol/records/engine";

/** The outcome of a report. */
export type ReportAnswer =
  | {
      kind: "applied";
      lastSeq: number;
      /** Microseconds, and a wait, as in STORED_ORDER. */
      appliedAt?: number | undefined;
      settledWait?: number | undefined;
      cancel: boolean;
      runState: ReportResponse["run_state"];
      /** The report came under a lease that is over: nothing of it that needs the lease was done. */
      fenced?: boolean;
    }
  /** The server refused the report, because the run no longer exists or is no longer with this engine: `reason` is its text. */
  | { kind: "gone"; reason: string }
  | { kind: "too-large" }
  | { kind: "refused"; error: string };

export interface RunWatcher {
  cancelRequested(): void;
  /** The run no longer exists, has ended without this engine, or is with another one. */
  gone(reason: string): void;
  /** No server was reached for so long that the run counts as given up. */
  lost(): void;
}

/** A run that is held under its lease. */
export interface HeldRun {
  /**
   * Sends report events, as JSON texts, until the server has taken them. `ends` is true if they end or pause the run.
   * @throws the connection error when no server was reached for so long that the run is given up
   */
  report(events: string[], ends: boolean): Promise<ReportAnswer>;
  /** Asks the server at once for the run's status. */
  check(): void;
  /** The run has ended: its server need not say anything more about it. Reports may follow. */
  close(): void;
}

export interface RunChannel {
  hold(item: WorkItem, watcher: RunWatcher): HeldRun;
}
