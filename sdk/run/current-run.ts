import { currentSignal, requireScope } from "../execution/active-run.ts";

/** The run around the current code. Every field throws outside a run. */
export interface CurrentRun {
  /** The id of the run. */
  readonly id: number;
  /** UUID of the run. */
  readonly externalId: string;
  /** The name of the run, such as "brave-otter". */
  readonly name: string;
  /** The project of the flow. */
  readonly project: string;
  /** The name of the flow. */
  readonly flow: string;
  /** The parameters, with the defaults of the flow. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** 1 for the first attempt; retries and reruns after a crash count up. */
  readonly attempt: number;
  /**
   * For a run of a schedule: the time of the fire that the run is for, not the time at which it began; null for other runs. Crash
   * reruns and retries of the run keep it.
   */
  readonly fireTime: Date | null;
  /**
   * The schedule that created this run, or the run that this run repeats; `key` is null if the schedule has none or was
   * deleted.
   */
  readonly schedule: { readonly id: number; readonly key: string | null } | null;
  /** "client", "schedule", "catchup", "rule:7", "backfill:7", "run:7", "crash:7", "retry:7", "mcp:NAME", or a text of the client. */
  readonly createdBy: string;
  /** Tags of the run, those of its flow included. */
  readonly tags: readonly string[];
  /**
   * For durable runs and children: the id of the first run in the chain of crash reruns, the same for all runs of the chain;
   * null for other runs.
   */
  readonly lineage: number | null;
  /** Aborts when the run is cancelled or its time limit passes; inside a task, also with that task run. */
  readonly signal: AbortSignal;
}

/**
 * The run around the call: its ids, parameters, origin and attempt.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { cron, flow, run } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const report = flow("report", { schedules: [cron("0 6 * * *")] }, async () => {
 *   return `${run.flow} for ${run.fireTime?.toISOString() ?? "now"}, attempt ${run.attempt}`;
 * });
 *
 * const { result } = await runFlow(report, {}, { fireTime: new Date("2026-01-05T06:00:00Z") });
 * assert.equal(result, "report for 2026-01-05T06:00:00.000Z, attempt 1");
 * ```
 */
export const run: CurrentRun = {
  get id() {
    return requireScope("run.id").run.id;
  },
  get externalId() {
    return requireScope("run.externalId").run.externalId;
  },
  get name() {
    return requireScope("run.name").run.name;
  },
  get project() {
    return requireScope("run.project").run.project;
  },
  get flow() {
    return requireScope("run.flow").run.flow;
  },
  get parameters() {
    return requireScope("run.parameters").run.parameters;
  },
  get attempt() {
    const { run: active } = requireScope("run.attempt");
    return active.origin.attemptsBefore + active.attempt;
  },
  get fireTime() {
    const { fireTimeUs } = requireScope("run.fireTime").run.origin;
    return fireTimeUs === null ? null : new Date(fireTimeUs / 1000);
  },
  get schedule() {
    return requireScope("run.schedule").run.origin.schedule;
  },
  get createdBy() {
    return requireScope("run.createdBy").run.origin.createdBy;
  },
  get tags() {
    return requireScope("run.tags").run.origin.tags;
  },
  get lineage() {
    return requireScope("run.lineage").run.origin.lineage;
  },
  get signal() {
    requireScope("run.signal");
    return currentSignal();
  },
};
