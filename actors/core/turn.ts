/**
 * One step of an actor of the dispatch group: collects its changes, answers and messages.
 *
 * Handlers change the live state and mark the touched rows; `finish` writes each touched row once and sends the decision as
 * part of one batch, so a command is applied as a whole or not.
 */

import type { Static, TSchema } from "typebox";
import { type Refusal, refuse } from "#protocol/errors";
import type { State, StateType } from "#protocol/records/state";
import { canonicalJson, parseKeepingFractions } from "#protocol/values/json";
import { SENT_JSON } from "#protocol/values/json-scan";
import { validate } from "#protocol/values/validate";
import { COMMANDS, type Command, type CommandHead, type CommandKind } from "#protocol/wire/command";
import { type Primitive, STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import { assert } from "#runtime/assert";
import type { Outbox } from "#runtime/effect";
import { type Decision, emptyDecision } from "#storage/write/batch";
import { type OperationName, putOperation, putOperationOf, type RowOf, type RunStateRow, runStateText } from "#storage/write/ops";
import type { IdSource } from "../ids.ts";
import { COMMITS, SERVER_LOG } from "../names.ts";
import type { Flow } from "./state/flow.ts";
import type { LiveState } from "./state/live-state.ts";
import { type Run, renderRun, UNSTARTED } from "./state/run.ts";
import type { TaskRun } from "./state/task-run.ts";

/** Prefix of a kept answer that is an event; the event's id follows. */
const EVENT_ANSWER = "event:";

/** Time that an engine may take to report a move; a larger difference means that its clock differs from the server's. */
const CLOCKS_APART_US = 1_000_000;

/** An event with all fields but its payload; other events are read through their run or flow. */
export interface GivenEvent {
  name: string;
  run: Run | null;
  flow_id: number | null;
  resource: object;
  related: readonly object[];
}

/** A run whose downstream runs are to be created. */
export interface CompletedRun {
  run: Run;
  /** Flows along the run's chain of skipped runs; null until computed. */
  above: Set<Flow> | null;
}

type CountOperation = "count_runs" | "count_task_runs";

/** What a step has changed, answered and announced so far. */
class Draft {
  readonly decision: Decision = emptyDecision();
  readonly completed: CompletedRun[] = [];
  readonly newRuns = new Set<Run>();
  readonly touchedRuns = new Map<Run, boolean>();
  readonly touchedTasks = new Set<TaskRun>();
  readonly stream: Primitive[] = [];
  readonly counts: { operation: CountOperation; flowId: number; type: StateType; delta: number }[] = [];
}

export class Turn {
  readonly state: LiveState;
  readonly nowUs: number;
  readonly ids: IdSource;
  readonly out: Outbox;
  /** Number of this step, to recognise when its decision is committed. */
  readonly number: number;
  /** Length of the chain of rules that led to what is decided here, inherited by new events and runs. 0 without a rule. */
  readonly ruleDepth: number;
  readonly #draft: Draft;

  constructor(state: LiveState, nowUs: number, ids: IdSource, out: Outbox, number: number, ruleDepth = 0, draft = new Draft()) {
    this.state = state;
    this.nowUs = nowUs;
    this.ids = ids;
    this.out = out;
    this.number = number;
    this.ruleDepth = ruleDepth;
    this.#draft = draft;
  }

  /** This step for decisions that follow from a chain of this many rules: another origin, the same decision. */
  inChain(ruleDepth: number): Turn {
    if (ruleDepth === this.ruleDepth) return this;
    return new Turn(this.state, this.nowUs, this.ids, this.out, this.number, ruleDepth, this.#draft);
  }

  /** This step for what a command causes. */
  causedBy(command: Pick<CommandHead, "rule_depth">): Turn {
    return this.inChain(command.rule_depth ?? 0);
  }

  get decision(): Decision {
    return this.#draft.decision;
  }

  /** Runs that completed in this step and whose downstream runs have yet to be created. */
  get completed(): CompletedRun[] {
    return this.#draft.completed;
  }

  /** The wall clock; during an unaccepted step, the time it would show without the step. */
  get trustedUs(): number {
    return this.state.clock.trustedUs(this.nowUs, this.state.uptimeUs);
  }

  /** Time of receipt of what this step decides. Ages are computed from it, so it is never earlier than the true time. */
  get receivedUs(): number {
    return Math.max(this.nowUs, this.trustedUs);
  }

  /** Marks a run that has no row yet. */
  newRun(run: Run): void {
    this.#draft.newRuns.add(run);
    this.#draft.touchedRuns.set(run, true);
  }

  /** Runs of a flow with consecutive ids, stored by an operation of their own, and the events of their creation. */
  newRuns(flow: Flow, firstId: number, count: number): void {
    this.#addCount("count_runs", flow.id, "Scheduled", count);
    this.put("insert_run_events", {
      name: "run.scheduled",
      occurred: this.nowUs,
      first_run_id: firstId,
      count,
      flow_id: flow.id,
      state_type: "Scheduled",
      rule_depth: this.ruleDepth,
    });
    this.state.rules.take("event", count);
    for (let made = 0; made < count; made += 1)
      this.#draft.stream.push(STREAM_CODE["run.updated"], firstId + made, STREAM_CODE["event.created"], 0);
  }

  /** Marks the row of a run as changed; `announce` if its state has changed. */
  touchRun(run: Run, announce: boolean): void {
    this.#draft.touchedRuns.set(run, announce || this.#draft.touchedRuns.get(run) === true);
  }

  touchTask(task: TaskRun): void {
    this.#draft.touchedTasks.add(task);
  }

  /** Removes the marks of a run that is being deleted. */
  dropRun(run: Run): void {
    this.#draft.newRuns.delete(run);
    this.#draft.touchedRuns.delete(run);
    for (const task of run.tasks.values()) this.#draft.touchedTasks.delete(task);
  }

  stream(kind: StreamKind, id: Primitive): void {
    this.#draft.stream.push(STREAM_CODE[kind], id);
  }

  /** Counts a move of a run between state types; null stands for before its creation and after its deletion. */
  countRun(flow: Flow, from: StateType | null, to: StateType | null): void {
    this.#count("count_runs", flow, from, to);
  }

  countTask(flow: Flow, from: StateType | null, to: StateType | null): void {
    this.#count("count_task_runs", flow, from, to);
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

  #count(operation: CountOperation, flow: Flow, from: StateType | null, to: StateType | null): void {
    if (from === to) return;
    if (from !== null) this.#addCount(operation, flow.id, from, -1);
    if (to !== null) this.#addCount(operation, flow.id, to, 1);
  }

  /** A command touches few states, so searching a list is faster than maintaining a map. */
  #addCount(operation: CountOperation, flowId: number, type: StateType, delta: number): void {
    const known = this.#draft.counts.find(
      (entry) => entry.type === type && entry.flowId === flowId && entry.operation === operation,
    );
    if (known === undefined) this.#draft.counts.push({ operation, flowId, type, delta });
    else known.delta += delta;
  }

  /** Records an event about a run: the common payload is read from the run, `extra` holds additional keys. */
  runEvent(name: string, run: Run, extra: Record<string, unknown> | null = null): void {
    this.#stateEvent(name, run, null, run.state, extra === null ? null : JSON.stringify(extra));
  }

  taskEvent(name: string, run: Run, task: TaskRun, state: State): void {
    this.#stateEvent(name, run, task.id, state, null);
  }

  #stateEvent(name: string, run: Run, taskId: number | null, state: State, extraText: string | null): void {
    this.#event({
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
    });
  }

  /** Records an event that user code sent from inside a run. */
  customEvent(name: string, run: Run, taskId: number | null, payloadText: string): void {
    this.#event({
      name,
      occurred: this.nowUs,
      run_id: run.id,
      flow_id: run.flow.id,
      task_run_id: taskId,
      state_type: null,
      state_name: runStateText(run.state),
      state_message: null,
      resource: null,
      related: null,
      payload: payloadText,
    });
  }

  /** Records an event stored as given. Returns the event's future id. */
  givenEvent({ payload, ...event }: GivenEvent & { payload: unknown }): number {
    return this.#putEvent(event, canonicalJson(payload), 0);
  }

  /** Records an event sent by a client, which becomes the answer of the command. */
  emittedEvent(command: Command, event: GivenEvent, payloadText: string): void {
    this.#putEvent(event, payloadText, command.id);
    this.#keepAnswer(command, 201, null);
  }

  #putEvent({ name, run, flow_id, resource, related }: GivenEvent, payloadText: string, command: number): number {
    this.put("insert_event", {
      name,
      occurred: this.nowUs,
      run_id: run?.id ?? null,
      flow_id,
      task_run_id: null,
      state_type: null,
      state_name: run === null ? null : runStateText(run.state),
      state_message: null,
      resource: JSON.stringify(resource),
      related: JSON.stringify(related),
      payload: payloadText,
    });
    this.#noteChain();
    this.stream("event.created", command);
    return this.state.rules.take("event");
  }

  reply(command: Command, status: number, body: string | null): void {
    this.decision.replies.push(command.id, status, body);
    this.#keepAnswer(command, status, body);
  }

  /** Repeats the first answer to a retried request with an Idempotency-Key; false when the request has to be decided. */
  answerAgain(command: Pick<CommandHead, "id" | "idempotency">): boolean {
    if (command.idempotency === null) return false;
    const known = this.state.answerTo(command.idempotency.key);
    if (known === null) return false;
    const { replies } = this.decision;
    if (known.fingerprint !== command.idempotency.fingerprint) {
      const refusal = refuse("idempotency_mismatch");
      replies.push(command.id, refusal.status, refusal.body());
    } else if (known.body?.startsWith(EVENT_ANSWER)) {
      replies.push(command.id, known.status, Number(known.body.slice(EVENT_ANSWER.length)));
    } else if (known.body === null) {
      const refusal = refuse("busy");
      replies.push(command.id, refusal.status, refusal.body());
    } else replies.push(command.id, known.status, known.body);
    return true;
  }

  /** `body` null: the answer is the event recorded last. */
  #keepAnswer(command: Command, status: number, body: string | null): void {
    if (command.idempotency === null) return;
    const { key, fingerprint } = command.idempotency;
    this.state.keepAnswer(key, { fingerprint, status, body }, this.number);
    this.put("put_idempotency", { key, created_at: this.receivedUs, fingerprint, status, body });
  }

  replyJson(command: Command, status: number, body: unknown): void {
    this.reply(command, status, JSON.stringify(body));
  }

  replyRun(command: Command, status: number, run: Run): void {
    this.reply(command, status, renderRun(run, this.state.parametersOf(run)));
  }

  refuse(command: Command, refusal: Refusal): void {
    // A 503 is temporary and not kept as the answer: the client should retry.
    if (refusal.status === 503) this.decision.replies.push(command.id, refusal.status, refusal.body());
    else this.reply(command, refusal.status, refusal.body());
  }

  /** Parses and validates a text body. On an error, refuses the command and returns undefined. */
  parse<S extends TSchema>(command: Command, schema: S, read = parseKeepingFractions): Static<S> | undefined {
    let value: unknown;
    try {
      value = read(String(command.body), SENT_JSON);
    } catch (cause) {
      this.refuse(command, refuse("bad_json", cause instanceof Error ? cause.message : String(cause)));
      return undefined;
    }
    const checked = validate(schema, value);
    if (checked.ok) {
      this.#nameUnknownFields(command.kind, schema, value);
      return checked.value;
    }
    this.refuse(command, refuse("invalid", checked.error));
    return undefined;
  }

  #nameUnknownFields(kind: CommandKind, schema: TSchema, body: unknown): void {
    const { loggedAs } = COMMANDS[kind];
    const line = loggedAs === null ? null : this.state.unknownFields.line(loggedAs, schema, body);
    if (line !== null) this.warn(line);
  }

  /** Writes a line to the server's log. */
  warn(text: string): void {
    this.out.send(SERVER_LOG, { level: "warn", text });
  }

  /** Adds a row operation to the decision. */
  put<N extends OperationName>(name: N, row: RowOf<N>): void {
    putOperation(this.decision.ops, name, row);
  }

  /** Writes the rows touched so far; rows touched later are written again. */
  writeTouched(): void {
    const { ops, stream } = this.decision;
    for (const [run, announce] of this.#draft.touchedRuns) {
      if (this.#draft.newRuns.has(run)) insertRun(ops, run, this.state.parametersOf(run));
      else putOperationOf(ops, "update_run", { id: run.id }, runState(run));
      this.state.fileRun(run, this.number);
      if (announce) stream.push(STREAM_CODE["run.updated"], run.id);
    }
    for (const task of this.#draft.touchedTasks) {
      putTask(ops, task);
      stream.push(STREAM_CODE["task_run.updated"], task.id);
    }
    this.#draft.newRuns.clear();
    this.#draft.touchedRuns.clear();
    this.#draft.touchedTasks.clear();
  }

  /** Writes the touched rows and sends the decision. */
  finish(): void {
    assert(this.completed.length === 0, "the downstream runs of every completed run are created");
    this.writeTouched();
    const { ops, logs, replies, stream } = this.decision;
    for (const { operation, flowId, type, delta } of this.#draft.counts)
      if (delta !== 0) putOperation(ops, operation, { flow_id: flowId, state_type: type, delta });
    for (const entry of this.#draft.stream) stream.push(entry);
    if (ops.length + logs.length + replies.length + stream.length === 0) return;
    this.out.send(COMMITS, { decision: this.decision, turn: this.number });
  }

  #noteChain(): void {
    if (this.ruleDepth > 0) this.put("put_event_chain", { depth: this.ruleDepth });
  }

  #event(row: RowOf<"insert_event">): void {
    this.put("insert_event", row);
    this.#noteChain();
    this.#draft.stream.push(STREAM_CODE["event.created"], 0);
    this.state.rules.take("event");
  }
}

function runState(run: Run): RunStateRow {
  const { state } = run;
  return {
    state_type: state.type,
    state_name: state.name,
    state_timestamp: state.timestamp,
    state_message: state.message,
    state_details: detailsText(state),
    state_received: Math.abs(run.movedUs - state.timestamp) > CLOCKS_APART_US ? run.movedUs : null,
    start_time: run.start_time,
    end_time: run.end_time,
    total_run_time: run.total_run_time,
    engine_id: run.engine_id,
    engine_pid: run.engine_pid,
    assignment_id: assignmentValue(run),
    report_seq: run.report_seq,
    other_sequences: run.otherSequences.size === 0 ? null : JSON.stringify(Object.fromEntries(run.otherSequences)),
    crash_count: run.crash_count,
    failure_count: run.failure_count,
    attempt: run.attempt,
    task_counts: run.taskCounts === UNSTARTED.taskCounts ? null : JSON.stringify(run.taskCounts),
  };
}

/**
 * Negative after the end of the assignment, so that a reload knows the newest assignment and recognises late reports of its
 * engine.
 */
function assignmentValue({ assigned, assignment_id }: Run): number | null {
  if (assignment_id === 0) return null;
  return assigned ? assignment_id : -assignment_id;
}

function detailsText(state: State): string | null {
  return Object.keys(state.details).length === 0 ? null : JSON.stringify(state.details);
}

function insertRun(ops: Primitive[], run: Run, parametersText: string): void {
  const identity = {
    id: run.id,
    external_id: run.external_id,
    flow_id: run.flow.id,
    name: run.name,
    parameters: parametersText,
    tags: run.tags.length === 0 ? null : JSON.stringify(run.tags),
    priority: run.priority,
    reruns: run.reruns,
    created_by: run.created_by,
    created_at: run.created_at,
    scheduled_time: run.scheduled_time,
    schedule_id: run.schedule_id,
    backfill_id: run.backfill_id,
    parent_run_id: run.parent_run_id,
  };
  putOperationOf(ops, "insert_run", identity, runState(run));
}

function putTask(ops: Primitive[], task: TaskRun): void {
  const { state } = task;
  putOperation(ops, "put_task_run", {
    id: task.id,
    external_id: task.external_id,
    run_id: task.run_id,
    name: task.name,
    task_key: task.task_key,
    dynamic_key: task.dynamic_key,
    parents: task.parents.length === 0 ? null : JSON.stringify(task.parents),
    state_type: state?.type ?? "Pending",
    state_name: state?.name ?? "Pending",
    state_timestamp: state?.timestamp ?? 0,
    state_message: state?.message ?? null,
    state_details: state === null ? null : detailsText(state),
    start_time: task.start_time,
    end_time: task.end_time,
    total_run_time: task.total_run_time,
    crash_count: task.crash_count,
    failure_count: task.failure_count,
    created_at: task.created_at,
  });
}
