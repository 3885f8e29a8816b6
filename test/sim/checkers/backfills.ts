/** The runs of a backfill are created in one commit and wait for its check; none starts after the backfill was cancelled. */
import { isTerminal } from "#protocol/records/state";
import { Violation } from "../trace.ts";
import type { Checker, Commit } from "./checker.ts";
import type { CommittedBackfill, History } from "./history.ts";

const RULE = "all runs of a backfill or none";

export class BackfillChecker implements Checker {
  #before = new Map<number, CommittedBackfill>();
  /** Runs that have left Scheduled: a person who moves such a run back intends it to run. */
  readonly #moved = new Set<number>();

  commit(_commit: Commit, history: History): void {
    this.#before = new Map(history.backfills);
  }

  afterCommit({ operations }: Commit, history: History): void {
    const inserted = new Map<number, number>();
    for (const operation of operations) {
      if (operation.name !== "insert_run" || operation.get("backfill_id") === null) continue;
      // A rerun after a crash also has the backfill's id.
      if (operation.get("parent_run_id") !== null) continue;
      const backfill = operation.number("backfill_id");
      inserted.set(backfill, (inserted.get(backfill) ?? 0) + 1);
    }
    for (const [id, count] of inserted) {
      const backfill = history.backfills.get(id);
      if (this.#before.has(id)) throw new Violation(RULE, `backfill ${id} got ${count} runs after it was made`);
      if (backfill !== undefined && backfill.total !== count)
        throw new Violation(RULE, `backfill ${id} has ${count} runs of ${backfill.total}`);
    }
    // The answer to the check and its effects may be in one commit.
    const checked = new Set<number>();
    for (const operation of operations) {
      if (operation.name === "put_backfill" && operation.number("prefiltered") === 1) checked.add(operation.number("id"));
      if (operation.name !== "update_run") continue;
      const run = history.runs.get(operation.number("id"));
      if (operation.text("state_type") !== "Scheduled") this.#moved.add(operation.number("id"));
      if (run?.assignment != null && run.backfill !== null) this.#assigned(run.id, run.backfill, run.type, checked);
    }
  }

  atRest(history: History): void {
    for (const { id, cancelledThrough } of history.backfills.values())
      if (cancelledThrough !== null) throw new Violation(RULE, `the cancel of backfill ${id} ended at run ${cancelledThrough}`);
    for (const run of history.runs.values()) {
      if (run.backfill !== null && history.backfills.get(run.backfill)?.cancelled && !isTerminal(run.type))
        throw new Violation(RULE, `run ${run.id} of backfill ${run.backfill}, which is cancelled, is ${run.type}`);
    }
  }

  #assigned(run: number, backfill: number, type: string, checked: ReadonlySet<number>): void {
    const before = this.#before.get(backfill);
    if (before === undefined || type !== "Scheduled" || this.#moved.has(run)) return;
    if (!before.prefiltered && !checked.has(backfill))
      throw new Violation(RULE, `run ${run} is assigned before the check of backfill ${backfill}`);
    if (before.cancelled) throw new Violation(RULE, `run ${run} is assigned after backfill ${backfill} was cancelled`);
  }
}
