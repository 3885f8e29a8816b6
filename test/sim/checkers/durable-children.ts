/**
 * A child with a waiting caller wakes it, with the outcome of its end, whatever ends it; a child is created once for its wait; a
 * child ends with its caller, unless it is to outlive it.
 */
import { isTerminal } from "#protocol/records/state";
import type { Coverage } from "../coverage.ts";
import { Violation } from "../trace.ts";
import type { Checker, Commit, Operation } from "./checker.ts";
import type { CommittedWait } from "./durable-history.ts";
import type { CommittedRun, History } from "./history.ts";

const WAKES = "a child wakes its caller";
const ONCE = "a child is created once";
const ENDS = "children end with their caller";

export class DurableChildrenChecker implements Checker {
  readonly #coverage: Coverage;
  /** Waits of children that ended in this commit without an outcome: with the lineage of the caller. */
  #ended: CommittedWait[] = [];
  /** Runs that were moved by force in this commit: it may hold the end that a caller learns, and a later one. */
  readonly #forced = new Set<number>();

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
  }

  operation(operation: Operation, history: History): void {
    if (operation.name === "put_wait" && operation.get("child_lineage_id") !== null) return this.#created(operation, history);
    if (operation.name === "update_run" && isForced(operation)) this.#forced.add(operation.number("id"));
    if (operation.name !== "settle_wait") return;
    const wait = history.durable.waits.get(operation.number("id"));
    if (wait?.child == null) return;
    const outcome = operation.get("outcome");
    if (outcome === null) this.#ended.push(wait);
    else this.#settled(wait, JSON.parse(String(outcome)) as { kind: string });
  }

  #created(operation: Operation, { durable }: History): void {
    const child = operation.number("child_lineage_id");
    if (durable.lineages.has(child) && durable.lineages.get(child)?.callerWait !== null)
      throw new Violation(ONCE, `lineage ${child} is the child of two waits`);
  }

  #settled({ id, child }: CommittedWait, { kind }: { kind: string }): void {
    if (kind === "child") this.#coverage.durableRun("a child ends and settles its wait");
    else if (kind === "gone") this.#coverage.durableRun("a child is gone");
    else throw new Violation(WAKES, `wait ${id} for child ${child} is settled by "${kind}"`);
  }

  afterCommit({ operations }: Commit, history: History): void {
    const { durable } = history;
    for (const { id, child, lineage } of durable.openWaits.values())
      if (child !== null && !lives(child, history))
        throw new Violation(WAKES, `lineage ${lineage} waits for child ${child} (wait ${id}), which has ended`);
    for (const operation of operations)
      if (operation.name === "settle_wait") this.#checkOutcome(durable.waits.get(operation.number("id")), history);
    for (const wait of this.#ended) this.#endedWithCaller(wait, history);
    this.#ended = [];
    this.#forced.clear();
  }

  /** The outcome is the end of the child's newest run. */
  #checkOutcome(wait: CommittedWait | undefined, { durable, runs }: History): void {
    if (wait === undefined || wait.child === null || wait.outcome?.kind !== "child") return;
    const { run_id, state } = wait.outcome;
    const run = runs.get(run_id);
    if (durable.lineageOf.get(run_id) !== wait.child)
      throw new Violation(WAKES, `wait ${wait.id} is settled by run ${run_id}, another child`);
    if (run === undefined || !isTerminal(run.type) || this.#forced.has(run_id)) return;
    if (run.type !== state.type)
      throw new Violation(WAKES, `child ${run_id} is ${run.type}, and its caller learns ${state.type}`);
  }

  #endedWithCaller({ child, lineage, spec }: CommittedWait, history: History): void {
    if (child === null) return;
    const living = livingRuns(child, history);
    if (spec.on_parent_end === "leave") {
      if (living.length > 0) this.#coverage.durableRun("a child outlives its caller");
      return;
    }
    this.#coverage.durableRun("a child ends with its caller");
    const isMeddledWith = ({ details }: CommittedRun): boolean => details["forced"] === true;
    const on = living.find((run) => run.type !== "Cancelling" && !isMeddledWith(run));
    // A caller that was moved back by force may have armed its waits again, with another child.
    if (on !== undefined) throw new Violation(ENDS, `lineage ${lineage} has ended, and its child ${on.id} is ${on.name}`);
  }
}

/** A lineage goes on while a run of it has not ended, or is to be run again. */
function lives(lineage: number, history: History): boolean {
  const { durable, runs } = history;
  const ids = [...(durable.lineages.get(lineage)?.runs ?? [])];
  return ids.some((id) => !isTerminal(runs.get(id)?.type ?? "Failed") || durable.reruns.has(id));
}

function livingRuns(lineage: number, { durable, runs }: History): CommittedRun[] {
  return [...(durable.lineages.get(lineage)?.runs ?? [])].flatMap((id) => {
    const run = runs.get(id);
    return run === undefined || isTerminal(run.type) ? [] : [run];
  });
}

function isForced(operation: Operation): boolean {
  const details = operation.get("state_details");
  return typeof details === "string" && (JSON.parse(details) as { forced?: boolean }).forced === true;
}
