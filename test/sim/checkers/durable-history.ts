/** Lineages, waits, parks and reruns as committed: the part of the history that concerns durable runs. */
import type { WaitKind, WaitOutcome } from "#protocol/records/durable";
import type { Operation } from "./checker.ts";

export interface CommittedLineage {
  id: number;
  /** Its runs that are not deleted. */
  runs: Set<number>;
  origin: number | null;
  /** Of its origin it sees the results of task runs with smaller ids. */
  beforeTask: number;
  callerWait: number | null;
  endsWithParent: boolean;
}

export interface CommittedWait {
  id: number;
  lineage: number;
  identity: string;
  kind: WaitKind;
  due: number | null;
  spec: { event?: string; where?: Record<string, unknown> | null; on_parent_end?: string };
  child: number | null;
  open: boolean;
  /** Null while it is open, and when it ended with its lineage. */
  outcome: WaitOutcome | null;
  event: number | null;
}

export interface CommittedPark {
  run: number;
  parked: boolean;
  wakeAt: number | null;
  waits: readonly number[];
  holds: boolean;
  progress: string | null;
}

export class DurableHistory {
  readonly lineages = new Map<number, CommittedLineage>();
  /** The lineage of each run, also of deleted ones. */
  readonly lineageOf = new Map<number, number>();
  readonly waits = new Map<number, CommittedWait>();
  /** The wait of each identity of a lineage. */
  readonly byIdentity = new Map<string, CommittedWait>();
  readonly openWaits = new Map<number, CommittedWait>();
  readonly parks = new Map<number, CommittedPark>();
  /** Crashed runs that are to be run again. */
  readonly reruns = new Set<number>();

  fold(operation: Operation): void {
    switch (operation.name) {
      case "set_lineage": {
        const [run, id] = [operation.number("id"), operation.number("lineage_id")];
        this.lineageOf.set(run, id);
        this.#lineage(id).runs.add(run);
        return;
      }
      case "put_lineage":
        return this.#foldLineage(operation);
      case "put_wait":
        return this.#foldWait(operation);
      case "settle_wait":
        return this.#foldOutcome(operation);
      case "put_park":
        return this.#foldPark(operation);
      case "delete_park":
        this.parks.delete(operation.number("run_id"));
        return;
      case "put_rerun":
        this.reruns.add(operation.number("run_id"));
        return;
      case "delete_rerun":
        this.reruns.delete(operation.number("run_id"));
        return;
      default:
    }
  }

  deleteRun(id: number): void {
    this.parks.delete(id);
    this.reruns.delete(id);
    this.lineages.get(this.lineageOf.get(id) ?? 0)?.runs.delete(id);
  }

  isParked(run: number): boolean {
    return this.parks.get(run)?.parked === true;
  }

  #lineage(id: number): CommittedLineage {
    const known = this.lineages.get(id);
    if (known !== undefined) return known;
    const fresh = {
      id,
      runs: new Set<number>(),
      origin: null,
      beforeTask: Number.POSITIVE_INFINITY,
      callerWait: null,
      endsWithParent: false,
    };
    this.lineages.set(id, fresh);
    return fresh;
  }

  #foldLineage(operation: Operation): void {
    const lineage = this.#lineage(operation.number("id"));
    lineage.origin = orNull(operation, "origin_id");
    lineage.beforeTask = orNull(operation, "before_task") ?? Number.POSITIVE_INFINITY;
    lineage.callerWait = orNull(operation, "caller_wait");
    lineage.endsWithParent = operation.get("on_parent_end") === "cancel";
  }

  #foldWait(operation: Operation): void {
    const spec = operation.get("spec");
    const wait: CommittedWait = {
      id: operation.number("id"),
      lineage: operation.number("lineage_id"),
      identity: operation.text("identity"),
      kind: operation.text("kind") as WaitKind,
      due: orNull(operation, "due"),
      spec: spec === null ? {} : (JSON.parse(String(spec)) as CommittedWait["spec"]),
      child: orNull(operation, "child_lineage_id"),
      open: operation.get("settled_at") === null,
      outcome: null,
      event: null,
    };
    this.waits.set(wait.id, wait);
    this.byIdentity.set(`${wait.lineage} ${wait.identity}`, wait);
    if (wait.open) this.openWaits.set(wait.id, wait);
  }

  #foldOutcome(operation: Operation): void {
    const wait = this.waits.get(operation.number("id"));
    if (wait === undefined) return;
    const outcome = operation.get("outcome");
    wait.open = false;
    wait.outcome = outcome === null ? null : (JSON.parse(String(outcome)) as WaitOutcome);
    wait.event = orNull(operation, "event_id");
    this.openWaits.delete(wait.id);
  }

  #foldPark(operation: Operation): void {
    const run = operation.number("run_id");
    const waits = operation.get("waits");
    this.parks.set(run, {
      run,
      parked: operation.number("parked") === 1,
      wakeAt: orNull(operation, "wake_at"),
      waits: waits === null ? [] : (JSON.parse(String(waits)) as number[]),
      holds: operation.number("holds") === 1,
      progress: operation.get("progress") === null ? null : operation.text("progress"),
    });
  }
}

function orNull(operation: Operation, column: string): number | null {
  return operation.get(column) === null ? null : operation.number(column);
}
