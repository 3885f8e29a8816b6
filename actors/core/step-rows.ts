/** The rows of a step: a touched row is written once, at the end of the step, whatever the step changed before. */
import type { State, StateType } from "#protocol/records/state";
import { type OperationName, putOperation, type RowOf } from "#storage/write/ops";
import { putNewRun, putRun, putTask } from "./run-rows.ts";
import type { Flow } from "./state/flow.ts";
import type { Run } from "./state/run.ts";
import type { TaskRun } from "./state/task-run.ts";
import type { StepFacts } from "./step-facts.ts";
import type { StepStream } from "./step-stream.ts";

type CountOperation = "count_runs" | "count_task_runs";

/** What a step did to a run, as bits of one number: one map leaves less garbage per step than a set for each. */
const TOUCHED = 1;
/** The run has no row yet. */
const NEW = 2;
/** The run's state has changed, which the stream announces. */
const ANNOUNCED = 4;
/** The run's lineage has been set: it is written after the rows of all runs. */
const LINEAGE = 8;

export class StepRows {
  readonly #step: StepFacts;
  readonly #stream: StepStream;
  readonly #runs = new Map<Run, number>();
  readonly #tasks = new Set<TaskRun>();
  readonly #counts: { operation: CountOperation; flowId: number; type: StateType; delta: number }[] = [];

  constructor(step: StepFacts, stream: StepStream) {
    this.#step = step;
    this.#stream = stream;
  }

  /** Adds a row operation to the decision. */
  put<N extends OperationName>(name: N, row: RowOf<N>): void {
    putOperation(this.#step.decision.ops, name, row);
  }

  /** Marks a run that has no row yet. */
  newRun(run: Run): void {
    this.#mark(run, NEW | TOUCHED | ANNOUNCED);
  }

  /** Marks the row of a run as changed; `announce` if its state has changed. */
  touchRun(run: Run, announce: boolean): void {
    this.#mark(run, announce ? TOUCHED | ANNOUNCED : TOUCHED);
  }

  /** Marks a run whose lineage has been set. */
  setLineage(run: Run): void {
    this.#mark(run, LINEAGE);
  }

  touchTask(task: TaskRun): void {
    this.#tasks.add(task);
  }

  /** Removes the marks of a run that is being deleted. */
  dropRun(run: Run): void {
    this.#runs.delete(run);
    for (const task of run.tasks.values()) this.#tasks.delete(task);
  }

  /** Counts a move of a run between state types; null stands for before its creation and after its deletion. */
  countRun(flow: Flow, from: StateType | null, to: StateType | null): void {
    this.#count("count_runs", flow, from, to);
  }

  /** Counts runs that are stored by an operation of their own. */
  countNewRuns(flow: Flow, count: number): void {
    this.#addCount("count_runs", flow.id, "Scheduled", count);
  }

  countTask(flow: Flow, from: StateType | null, to: StateType | null): void {
    this.#count("count_task_runs", flow, from, to);
  }

  /** Takes the task runs of a run that is being deleted from the counts; a parked run has none of them in memory. */
  countDroppedTasks({ flow, taskCounts }: Run): void {
    for (const type of Object.keys(taskCounts) as StateType[])
      this.#addCount("count_task_runs", flow.id, type, -(taskCounts[type] ?? 0));
  }

  /** Counts a run (no task) or a task run as ended, for statistics; `delta` is -1 when it is revived. */
  countEnded(flow: Flow, task: string, ended: { state: State; total_run_time: number | null }, delta: 1 | -1): void {
    const { timestamp, type, name } = ended.state;
    this.put("count_ended", {
      ended_at: timestamp,
      flow_id: flow.id,
      task_name: task,
      state_type: type,
      duration: ended.total_run_time,
      delta,
      state_name: name,
    });
  }

  /** Writes the rows touched so far; rows touched later are written again. */
  write(): void {
    this.#write();
    this.#runs.clear();
    this.#tasks.clear();
  }

  /** Writes the touched rows and the counts. */
  finish(): void {
    this.#write();
    for (const { operation, flowId, type, delta } of this.#counts)
      if (delta !== 0) this.put(operation, { flow_id: flowId, state_type: type, delta });
  }

  #mark(run: Run, marks: number): void {
    this.#runs.set(run, marks | (this.#runs.get(run) ?? 0));
  }

  #write(): void {
    const { ops } = this.#step.decision;
    let all = 0;
    for (const [run, marks] of this.#runs) {
      all |= marks;
      if ((marks & TOUCHED) !== 0) this.#writeRun(run, marks);
    }
    if ((all & LINEAGE) !== 0) this.#writeLineages();
    for (const task of this.#tasks) {
      putTask(ops, task);
      this.#stream.addRow("task_run.updated", task.id, task.run_id);
    }
  }

  #writeRun(run: Run, marks: number): void {
    const { decision, state, number } = this.#step;
    if ((marks & NEW) !== 0) putNewRun(decision.ops, run, state.textsOf(run));
    else putRun(decision.ops, run);
    run.marks = "";
    state.fileRun(run, number);
    if ((marks & ANNOUNCED) !== 0) this.#stream.addRow("run.updated", run.id);
  }

  #writeLineages(): void {
    for (const [{ id, durable }, marks] of this.#runs) {
      if ((marks & LINEAGE) === 0 || durable === null || durable.lineageId === null) continue;
      this.put("set_lineage", { id, lineage_id: durable.lineageId, caller_run_id: durable.callerRunId });
    }
  }

  #count(operation: CountOperation, flow: Flow, from: StateType | null, to: StateType | null): void {
    if (from === to) return;
    if (from !== null) this.#addCount(operation, flow.id, from, -1);
    if (to !== null) this.#addCount(operation, flow.id, to, 1);
  }

  /** A command touches few states, so searching a list is faster than maintaining a map. */
  #addCount(operation: CountOperation, flowId: number, type: StateType, delta: number): void {
    const known = this.#counts.find((entry) => entry.type === type && entry.flowId === flowId && entry.operation === operation);
    if (known === undefined) this.#counts.push({ operation, flowId, type, delta });
    else known.delta += delta;
  }
}
