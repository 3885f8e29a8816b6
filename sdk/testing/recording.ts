import type { State } from "#protocol/records/state";
import type { LogLine, ReportItem } from "../execution/report-item.ts";

/** A recorded task run. */
export interface RecordedTaskRun {
  /** UUID of the task run. */
  id: string;
  /** The name of the task. */
  name: string;
  /** The task's name with a number within the run, "add-0", or with the label of the call. */
  dynamicKey: string;
  /** Dynamic keys of the task runs this task run waited on. */
  parents: string[];
  /** Every state, in order. */
  states: State[];
  /** The last one. */
  state: State;
}

/** An artifact that the run published. */
export interface RecordedArtifact {
  /** UUID of the artifact. */
  id: string;
  /** Its kind: "table", "markdown" or another. */
  kind: string;
  /** The key of its history, null without one. */
  key: string | null;
  /** What it shows, as the kind requires. */
  data: unknown;
  /** Dynamic key of the task run that published it; null for the flow itself. */
  taskRun: string | null;
}

/** An event that the run emitted. */
export interface RecordedEvent {
  /** The name of the event. */
  name: string;
  /** What was given with it; an empty object without anything. */
  payload: unknown;
  /** Dynamic key of the task run that emitted it; null for the flow itself. */
  taskRun: string | null;
}

/** A run of its own that the run has started by `flow.start`, `startMany` or `runAndWait`. */
export interface RecordedStart {
  flow: string;
  parameters: Record<string, unknown>;
  tags: readonly string[];
}

/**
 * The history of one run, in order.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { emit, flow, log, task } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const double = task("double", async (value: number) => value * 2);
 * const total = flow("total", async () => {
 *   const [one, two] = await double.map([1, 2]);
 *   log.info("doubled");
 *   await emit("total.known", { total: one + two });
 * });
 *
 * const recording = await runFlow(total);
 * assert.equal(recording.state.type, "Completed");
 * assert.equal(recording.taskRun("double-1").state.type, "Completed");
 * assert.deepEqual(recording.messages, ["doubled"]);
 * assert.deepEqual(recording.events[0]?.payload, { total: 6 });
 * ```
 */
export class Recording<Result = unknown> {
  /** States of the run. */
  readonly states: State[] = [];
  /** The task runs, in the order of their calls. */
  readonly taskRuns: RecordedTaskRun[] = [];
  /** The log lines, with level and time. */
  readonly logs: LogLine[] = [];
  /** The artifacts, each in its last form. */
  readonly artifacts: RecordedArtifact[] = [];
  /** The events that the run has emitted. */
  readonly events: RecordedEvent[] = [];
  /** The child runs that the run has waited for, in the order of their ends. */
  readonly children: Recording[] = [];
  /** The runs of their own that the run has started, in order, except those that a durable flow calls as children. */
  readonly started: RecordedStart[] = [];
  /** The variables as of the end of the run. */
  readonly variables = new Map<string, unknown>();
  readonly #byId = new Map<string, RecordedTaskRun>();

  /** The last state of the run. */
  get state(): State {
    const state = this.states.at(-1);
    if (state === undefined) throw new Error("the run has no state yet");
    return state;
  }

  /** The flow's return value as JSON; undefined if it returned nothing or did not complete. */
  get result(): Result | undefined {
    return this.state.details["result"] as Result | undefined;
  }

  /** The texts of the log lines. */
  get messages(): string[] {
    return this.logs.map((line) => line.message);
  }

  /**
   * The task run with this dynamic key ("add-0").
   * @throws Error if there is none
   */
  taskRun(dynamicKey: string): RecordedTaskRun {
    const found = this.taskRuns.find((taskRun) => taskRun.dynamicKey === dynamicKey);
    if (found === undefined) throw new Error(`there is no task run ${dynamicKey}`);
    return found;
  }

  /** @internal */
  add(item: ReportItem): void {
    switch (item.kind) {
      case "task_run_created":
        this.#create(item.external_id, item.name, item.dynamic_key, item.parents);
        return;
      case "task_run_transition": {
        const taskRun = this.#byId.get(item.external_id);
        taskRun?.states.push(item.state);
        return;
      }
      case "logs":
        this.logs.push(...item.logs);
        return;
      case "custom":
        this.events.push({ name: item.name, payload: item.payload, taskRun: this.#keyOf(item.task_run_external_id) });
        return;
      case "artifact":
        this.#publish({
          id: item.external_id,
          kind: item.artifact_kind,
          key: item.key,
          data: item.data,
          taskRun: this.#keyOf(item.task_run_external_id),
        });
        return;
      case "step":
        return;
      default:
        item satisfies never;
    }
  }

  #create(id: string, name: string, dynamicKey: string, parents: string[]): void {
    const states: State[] = [];
    const taskRun: RecordedTaskRun = {
      id,
      name,
      dynamicKey,
      parents: parents.map((parent) => this.#keyOf(parent) ?? parent),
      states,
      get state() {
        const state = states.at(-1);
        if (state === undefined) throw new Error(`${dynamicKey} has no state yet`);
        return state;
      },
    };
    this.#byId.set(id, taskRun);
    this.taskRuns.push(taskRun);
  }

  #publish(artifact: RecordedArtifact): void {
    const index = this.artifacts.findIndex(({ id }) => id === artifact.id);
    if (index === -1) this.artifacts.push(artifact);
    else this.artifacts[index] = artifact;
  }

  #keyOf(taskRunId: string | null): string | null {
    return taskRunId === null ? null : (this.#byId.get(taskRunId)?.dynamicKey ?? null);
  }
}
