/** Tracks the task runs that have not ended. */
import { isTerminal, type State } from "#protocol/records/state";
import type { ReportItem } from "../execution/report-item.ts";

/**
 * Tracks which task runs of a run have not ended, so that the engine can end them with the run when the user thread is lost.
 */
export class OpenTaskRuns {
  readonly #open = new Set<string>();

  observe(items: readonly ReportItem[]): void {
    for (const item of items) {
      if (item.kind === "task_run_created") this.#open.add(item.external_id);
      else if (item.kind === "task_run_transition" && isTerminal(item.state.type)) this.#open.delete(item.external_id);
    }
  }

  /** The moves that end all of them. */
  closing(type: "Cancelled" | "Crashed", message: string, timestamp: number): ReportItem[] {
    const state: State = { type, name: type, timestamp, message, details: {} };
    const items = [...this.#open].map(
      (external_id): ReportItem => ({ kind: "task_run_transition", external_id, state, force: false }),
    );
    this.#open.clear();
    return items;
  }
}
