/**
 * No acknowledged result of a step is computed again: an attempt finds what was stored in its lineage, and in what its lineage was
 * forked from, with the value that was acknowledged. A step under a lease that is over is not stored.
 */
import type { WorkItem } from "#protocol/records/engine";
import type { Coverage } from "../coverage.ts";
import type { DurableWatch } from "../durable-course.ts";
import { Violation } from "../trace.ts";
import type { Checker, Operation } from "./checker.ts";
import type { History } from "./history.ts";

const RULE = "no acknowledged step is computed again";

export class DurableStepsChecker implements Checker, DurableWatch {
  readonly #history: History;
  readonly #coverage: Coverage;
  /** The first result of each identity, by lineage. */
  readonly #stored = new Map<number, Map<string, string>>();
  readonly #acknowledged = new Map<number, Map<string, string>>();
  /** The task run of each result, by the result, which is unique. */
  readonly #tasks = new Map<string, number>();

  constructor(history: History, coverage: Coverage) {
    this.#history = history;
    this.#coverage = coverage;
  }

  operation(operation: Operation, history: History): void {
    if (operation.name !== "insert_step") return;
    const run = history.runs.get(operation.number("run_id"));
    const value = operation.text("value");
    const { lease } = JSON.parse(value) as { lease: number };
    if (run === undefined || run.assignment !== lease)
      throw new Violation(
        "a step under a lease that is over is refused",
        `a step of run ${operation.number("run_id")} under lease ${lease} is stored, the run is held under ${run?.assignment}`,
      );
    this.#tasks.set(value, operation.number("task_run_id"));
    put(this.#stored, operation.number("lineage_id"), operation.text("identity"), value);
  }

  replayed({ run_id, lease }: WorkItem, found: ReadonlyMap<string, string>): void {
    const { durable } = this.#history;
    const lineage = durable.lineageOf.get(run_id);
    if (lineage === undefined || !this.#history.runs.has(run_id)) return;
    if (found.size > 0) this.#coverage.durableRun("an attempt finds results of steps");
    // An engine that has lost the run may have been told of fewer results.
    if (this.#history.runs.get(run_id)?.assignment !== lease && found.size === 0) return;
    this.#finds(run_id, lineage, found, Number.POSITIVE_INFINITY);
    let before = Number.POSITIVE_INFINITY;
    for (let from = durable.lineages.get(lineage); from?.origin != null; from = durable.lineages.get(from.origin)) {
      before = Math.min(before, from.beforeTask);
      if (this.#finds(run_id, from.origin, found, before)) this.#coverage.durableRun("a fork finds results of its origin");
    }
  }

  /** Whether there was anything to find. */
  #finds(run: number, lineage: number, found: ReadonlyMap<string, string>, before: number): boolean {
    const acknowledged = [...(this.#acknowledged.get(lineage) ?? [])].filter(
      ([, value]) => (this.#tasks.get(value) ?? 0) < before,
    );
    for (const [identity, value] of acknowledged) {
      const other = found.get(identity);
      if (other === undefined) throw new Violation(RULE, `run ${run} does not find step ${identity} of lineage ${lineage}`);
      const own = this.#stored.get(this.#history.durable.lineageOf.get(run) ?? 0)?.get(identity);
      if (other !== value && other !== own)
        throw new Violation(RULE, `run ${run} finds ${other} for step ${identity} of lineage ${lineage}, not ${value}`);
    }
    return acknowledged.length > 0;
  }

  acknowledged({ run_id }: WorkItem, identity: string, value: string): void {
    const lineage = this.#history.durable.lineageOf.get(run_id);
    if (lineage === undefined || !this.#history.runs.has(run_id)) return;
    const stored = this.#stored.get(lineage)?.get(identity);
    if (stored !== value)
      throw new Violation("an acknowledged step is stored", `step ${identity} of run ${run_id} is ${stored}, not ${value}`);
    put(this.#acknowledged, lineage, identity, value);
  }
}

/** The first value stays. */
function put(map: Map<number, Map<string, string>>, lineage: number, identity: string, value: string): void {
  const values = map.get(lineage) ?? new Map<string, string>();
  map.set(lineage, values);
  if (!values.has(identity)) values.set(identity, value);
}
