/** The committed state, computed from the operations of each batch in order: the checkers' own record. */
import type { StateType } from "#protocol/records/state";
import type { Operation } from "./checker.ts";
import { DurableHistory } from "./durable-history.ts";

/** Fields of a run that never change. */
interface RunOrigin {
  id: number;
  flow: number;
  schedule: number | null;
  /** The scheduled time of a schedule's run. */
  fire: number | null;
  backfill: number | null;
  createdBy: string;
  createdAt: number;
}

interface RunProgress {
  type: StateType;
  name: string;
  timestamp: number;
  details: Record<string, unknown>;
  engine: string | null;
  /** Process of the engine. */
  pid: number | null;
  /** The assignment that holds the run, or null. */
  assignment: number | null;
  /** The newest assignment, even if ended. */
  newestAssignment: number;
  reportSeq: number;
}

export type CommittedRun = RunOrigin & RunProgress;

export interface CommittedSchedule {
  id: number;
  flow: number;
  /** Names it among those of its flow, for code and PUT. */
  key: string | null;
  /** JSON text. */
  spec: string;
  catchup: "skip" | "latest" | "all";
  catchupMax: number;
  /** Time of the last change by a user; the rule's own decisions do not count. */
  updatedAt: number;
  active: boolean;
  consumedUntil: number;
  nextFire: number | null;
  /** Skipped fires. */
  skips: Set<number>;
}

export interface CommittedBackfill {
  id: number;
  flow: number;
  total: number;
  concurrency: number;
  cancelled: boolean;
  prefiltered: boolean;
  /** Progress of a cancel; null without one. */
  cancelledThrough: number | null;
}

export interface CommittedLease {
  id: number;
  run: number;
  resources: Record<string, number>;
}

export interface CommittedTask {
  id: number;
  run: number;
  externalId: string;
  dynamicKey: string;
  type: StateType;
  timestamp: number;
}

export class History {
  readonly runs = new Map<number, CommittedRun>();
  readonly tasks = new Map<number, CommittedTask>();
  readonly leases = new Map<number, CommittedLease>();
  /** All run ids ever assigned. */
  readonly runsEver = new Set<number>();
  readonly leasesEver = new Set<number>();
  readonly schedules = new Map<number, CommittedSchedule>();
  readonly schedulesEver = new Set<number>();
  readonly backfills = new Map<number, CommittedBackfill>();
  readonly backfillsEver = new Set<number>();
  readonly flows = new Map<number, { key: string; options: Record<string, unknown> }>();
  readonly flowsEver = new Set<number>();
  /** The run of each artifact ever stored. */
  readonly artifactsEver = new Map<number, number>();
  /** Engine and run of each assignment ever committed. */
  readonly assignments = new Map<number, { run: number; engine: string }>();
  /** Every state ever committed, as "run type name timestamp". */
  readonly states = new Set<string>();
  readonly durable = new DurableHistory();
  events = 0;
  /** The runs of the events, in the order of their ids; 0 for none. */
  readonly eventRuns: number[] = [];
  commits = 0;
  newestRun = 0;
  newestFlow = 0;
  newestTask = 0;

  fold(operation: Operation): void {
    switch (operation.name) {
      case "insert_flow":
      case "update_flow":
        return this.#foldFlow(operation);
      case "delete_flow":
        return this.#deleteFlow(operation.number("id"));
      case "insert_run":
      case "update_run":
        return this.#foldRun(operation);
      case "delete_run":
        return this.#deleteRun(operation.number("id"));
      case "put_task_run":
        return this.#foldTask(operation);
      case "insert_lease":
        return this.#foldLease(operation);
      case "delete_lease":
        this.leases.delete(operation.number("id"));
        return;
      case "put_artifact":
        this.artifactsEver.set(operation.number("id"), operation.number("run_id"));
        return;
      case "insert_event":
        this.events += 1;
        this.eventRuns.push(operation.number("run_id"));
        return;
      default:
        this.#foldPlan(operation);
    }
  }

  #foldPlan(operation: Operation): void {
    switch (operation.name) {
      case "put_schedule":
        return this.#foldSchedule(operation);
      case "delete_schedule":
        this.schedules.delete(operation.number("id"));
        return;
      case "put_skip":
        this.schedules.get(operation.number("schedule_id"))?.skips.add(operation.number("fire"));
        return;
      case "delete_skip":
        this.schedules.get(operation.number("schedule_id"))?.skips.delete(operation.number("fire"));
        return;
      case "delete_skips":
        this.schedules.get(operation.number("schedule_id"))?.skips.clear();
        return;
      case "put_backfill":
        return this.#foldBackfill(operation);
      case "set_run_creator": {
        const run = this.runs.get(operation.number("id"));
        if (run !== undefined) run.createdBy = operation.text("created_by");
        return;
      }
      default:
        this.durable.fold(operation);
    }
  }

  #foldSchedule(operation: Operation): void {
    const id = operation.number("id");
    this.schedules.set(id, {
      id,
      flow: operation.number("flow_id"),
      key: operation.get("code_key") === null ? null : operation.text("code_key"),
      spec: operation.text("schedule"),
      catchup: operation.text("catchup") as CommittedSchedule["catchup"],
      catchupMax: operation.number("catchup_max"),
      updatedAt: operation.number("updated_at"),
      active: operation.number("active") === 1,
      consumedUntil: operation.number("consumed_until"),
      nextFire: operation.get("next_fire") === null ? null : operation.number("next_fire"),
      skips: this.schedules.get(id)?.skips ?? new Set(),
    });
    this.schedulesEver.add(id);
  }

  #foldBackfill(operation: Operation): void {
    const id = operation.number("id");
    this.backfills.set(id, {
      id,
      flow: operation.number("flow_id"),
      total: operation.number("total"),
      concurrency: operation.number("concurrency"),
      cancelled: operation.number("cancelled") === 1,
      prefiltered: operation.number("prefiltered") === 1,
      cancelledThrough: operation.get("cancelled_through") === null ? null : operation.number("cancelled_through"),
    });
    this.backfillsEver.add(id);
  }

  #foldFlow(operation: Operation): void {
    const id = operation.number("id");
    const known = this.flows.get(id);
    const key = operation.name === "insert_flow" ? `${operation.text("project")}/${operation.text("name")}` : (known?.key ?? "");
    this.flows.set(id, { key, options: JSON.parse(operation.text("options")) as Record<string, unknown> });
    this.flowsEver.add(id);
    this.newestFlow = Math.max(this.newestFlow, id);
  }

  #foldRun(operation: Operation): void {
    const id = operation.number("id");
    const known = this.runs.get(id);
    if (operation.name === "update_run" && known === undefined) return;
    const run: CommittedRun = { ...(known ?? originOf(operation)), ...progressOf(operation) };
    this.runs.set(id, run);
    this.runsEver.add(id);
    this.newestRun = Math.max(this.newestRun, id);
    this.states.add(stateKey(id, run));
    // Also of a run that was taken from its engine in the same commit.
    if (run.newestAssignment > 0) this.assignments.set(run.newestAssignment, { run: id, engine: run.engine ?? "" });
  }

  #foldTask(operation: Operation): void {
    const id = operation.number("id");
    this.tasks.set(id, {
      id,
      run: operation.number("run_id"),
      externalId: operation.text("external_id"),
      dynamicKey: operation.text("dynamic_key"),
      type: operation.text("state_type") as StateType,
      timestamp: operation.number("state_timestamp"),
    });
    this.newestTask = Math.max(this.newestTask, id);
  }

  #foldLease(operation: Operation): void {
    const id = operation.number("id");
    const resources = JSON.parse(operation.text("resources")) as Record<string, number>;
    this.leases.set(id, { id, run: operation.number("run_id"), resources });
    this.leasesEver.add(id);
  }

  #deleteRun(id: number): void {
    this.runs.delete(id);
    this.durable.deleteRun(id);
    for (const task of this.tasks.values()) if (task.run === id) this.tasks.delete(task.id);
    for (const lease of this.leases.values()) if (lease.run === id) this.leases.delete(lease.id);
  }

  #deleteFlow(id: number): void {
    for (const run of [...this.runs.values()]) if (run.flow === id) this.#deleteRun(run.id);
    for (const plans of [this.schedules, this.backfills])
      for (const plan of [...plans.values()]) if (plan.flow === id) plans.delete(plan.id);
    this.flows.delete(id);
  }
}

export function stateKey(run: number, state: { type: string; name: string; timestamp: number }): string {
  return `${run} ${state.type} ${state.name} ${state.timestamp}`;
}

/** The run that a rerun repeats; 0 for other runs. */
export function crashedBefore(createdBy: string): number {
  return Number(/^crash:(\d+)$/.exec(createdBy)?.[1] ?? 0);
}

function originOf(operation: Operation): RunOrigin {
  const schedule = operation.get("schedule_id") === null ? null : operation.number("schedule_id");
  return {
    id: operation.number("id"),
    flow: operation.number("flow_id"),
    schedule,
    fire: schedule === null || operation.get("scheduled_time") === null ? null : operation.number("scheduled_time"),
    backfill: operation.get("backfill_id") === null ? null : operation.number("backfill_id"),
    createdBy: operation.text("created_by"),
    createdAt: operation.number("created_at"),
  };
}

function progressOf(operation: Operation): RunProgress {
  const newest = operation.number("assignment_id");
  const details = operation.get("state_details");
  return {
    type: operation.text("state_type") as StateType,
    name: operation.text("state_name"),
    timestamp: operation.number("state_timestamp"),
    details: details === null ? {} : (JSON.parse(String(details)) as Record<string, unknown>),
    engine: operation.get("engine_id") === null ? null : operation.text("engine_id"),
    pid: operation.get("engine_pid") === null ? null : operation.number("engine_pid"),
    assignment: operation.number("assigned") === 1 ? newest : null,
    newestAssignment: newest,
    reportSeq: operation.number("report_seq"),
  };
}
