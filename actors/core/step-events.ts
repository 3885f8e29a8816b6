/** The events of a step. Each carries the length of the chain of rules that led to it, and has a stream message. */
import type { State } from "#protocol/records/state";
import { canonicalJson } from "#protocol/values/json";
import { putOperation, type RowOf, runStateText } from "#storage/write/ops";
import type { Flow } from "./state/flow.ts";
import type { Run } from "./state/run.ts";
import type { TaskRun } from "./state/task-run.ts";
import type { StepFacts } from "./step-facts.ts";
import type { StepStream } from "./step-stream.ts";

/** An event with all fields but its payload; other events are read through their run or flow. */
export interface GivenEvent {
  name: string;
  run: Run | null;
  flow_id: number | null;
  resource: object;
  related: readonly object[];
}

export class StepEvents {
  readonly #step: StepFacts;
  readonly #stream: StepStream;
  readonly #ruleDepth: number;

  constructor(step: StepFacts, stream: StepStream, ruleDepth: number) {
    this.#step = step;
    this.#stream = stream;
    this.#ruleDepth = ruleDepth;
  }

  /** Records an event about a run: the common payload is read from the run, `extra` holds additional keys. */
  ofRun(name: string, run: Run, extra: Record<string, unknown> | null = null): void {
    this.#ofState(name, run, null, run.state, extra === null ? null : JSON.stringify(extra));
  }

  ofTask(name: string, run: Run, task: TaskRun, state: State): void {
    this.#ofState(name, run, task.id, state, null);
  }

  /** Records the creation of runs of a flow with consecutive ids. */
  ofNewRuns(flow: Flow, firstId: number, count: number): void {
    const { decision, nowUs } = this.#step;
    putOperation(decision.ops, "insert_run_events", {
      name: "run.scheduled",
      occurred: nowUs,
      first_run_id: firstId,
      count,
      flow_id: flow.id,
      state_type: "Scheduled",
      rule_depth: this.#ruleDepth,
    });
    this.withNewRuns(firstId, count);
  }

  /** Numbers the events of new runs with consecutive ids whose operation records these events too (insert_new_runs). */
  withNewRuns(firstId: number, count: number): void {
    this.#step.state.rules.takeEvents(this.#step.number, count);
    for (let made = 0; made < count; made += 1) {
      this.#stream.add("run.updated", firstId + made);
      this.#stream.add("event.created", 0, firstId + made);
    }
  }

  /** Records an event that user code sent from inside a run. */
  custom(name: string, run: Run, taskId: number | null, payloadText: string): void {
    this.#put(
      {
        name,
        occurred: this.#step.nowUs,
        run_id: run.id,
        flow_id: run.flow.id,
        task_run_id: taskId,
        state_type: null,
        state_name: runStateText(run.state),
        state_message: null,
        resource: null,
        related: null,
        payload: payloadText,
      },
      0,
    );
  }

  /** Records an event stored as given. Returns the event's future id. */
  given({ payload, ...event }: GivenEvent & { payload: unknown }): number {
    return this.#given(event, canonicalJson(payload), 0);
  }

  /** Records an event sent by a client. The event is the answer to the client's command (StepAnswers.event). */
  emitted(command: number, event: GivenEvent, payloadText: string): void {
    this.#given(event, payloadText, command);
  }

  #ofState(name: string, run: Run, taskId: number | null, state: State, extraText: string | null): void {
    this.#put(
      {
        name,
        occurred: state.timestamp,
        run_id: run.id,
        flow_id: run.flow.id,
        task_run_id: taskId,
        state_type: state.type,
        state_name: state.name,
        state_message: state.message,
        resource: null,
        related: null,
        payload: extraText,
      },
      0,
    );
  }

  #given({ name, run, flow_id, resource, related }: GivenEvent, payloadText: string, command: number): number {
    return this.#put(
      {
        name,
        occurred: this.#step.nowUs,
        run_id: run?.id ?? null,
        flow_id,
        task_run_id: null,
        state_type: null,
        state_name: run === null ? null : runStateText(run.state),
        state_message: null,
        resource: JSON.stringify(resource),
        related: JSON.stringify(related),
        payload: payloadText,
      },
      command,
    );
  }

  /** `command` is the command that the event answers, or 0. Returns the event's future id. */
  #put(row: RowOf<"insert_event">, command: number): number {
    const { ops } = this.#step.decision;
    putOperation(ops, "insert_event", row);
    if (this.#ruleDepth > 0) putOperation(ops, "put_event_chain", { depth: this.#ruleDepth });
    this.#stream.add("event.created", command, row.run_id ?? 0);
    return this.#step.state.rules.takeEvents(this.#step.number);
  }
}
