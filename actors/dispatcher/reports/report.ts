/**
 * POST /api/engine/report: task runs, log lines, custom events, artifacts and moves of a run, applied in order and once.
 *
 * Numbers grow within an assignment; events at or below the last number were applied before and are skipped, so a repeated
 * report changes nothing. A report under an ended lease moves neither the run nor task runs; its log lines and custom events
 * are kept. A report is validated as a whole before any of it is applied. A large report is applied in slices
 * (open-reports.ts).
 */

import { type Refusal, refuse } from "#protocol/errors";
import { ARTIFACT_BYTES_MAX, LOG_MESSAGE_LENGTH_MAX, PAYLOAD_BYTES_MAX } from "#protocol/limits";
import { type ReportEvent, type ReportResponse, ReportRequest as ReportSchema } from "#protocol/records/engine";
import { canonicalJson, parseJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import { checkReportedName } from "#protocol/vocabulary";
import type { Command } from "#protocol/wire/command";
import { eventsOfSlice, sliceEnds } from "#protocol/wire/report-slices";
import { parseBody } from "../../core/command-body.ts";
import { newReport, type OpenReport, type ReportHead } from "../../core/state/open-reports.ts";
import { type Run, withEntry, withSequence } from "../../core/state/run.ts";
import type { TaskRun } from "../../core/state/task-run.ts";
import type { Turn } from "../../core/turn.ts";
import { lineageOf } from "../durable/lineages.ts";
import { parkByReport } from "../durable/park.ts";
import { refuseEvent, refuseEvents } from "../durable/refuse-events.ts";
import { storeStep } from "../durable/steps.ts";
import { touchContact } from "../engines/contact.ts";
import { sequenceKeyOf } from "../hand-out/hand-out.ts";
import { moveTask } from "../states/moves.ts";
import { decideTransition } from "../states/transition.ts";
import { moveByReport } from "../states/transition-run.ts";
import { replaceUnstorableTimes, warnOfTimes } from "./reported-time.ts";
import { addLine, addWarning, appendLogs, type LogsByRun } from "./run-log.ts";
import { cutText } from "./sent-text.ts";

/**
 * The standing of a report towards the assignment of its run: under its lease, without a lease (identified by engine), or
 * under an ended lease.
 */
type Standing = "leased" | "unleased" | "fenced";

export function report(turn: Turn, command: Command<"Report">): void {
  const opened = openReport(turn, command);
  if (opened === undefined) return;
  const { openReports } = turn.state;
  const refusal = refuseOnlySlice(turn, opened);
  if (refusal !== null) return turn.answers.refuse(command, refusal);
  if (openReports.putBehind(opened.head.run_id, command)) return;
  if (opened.slices.length > 1 && turn.state.findRun(opened.head.run_id) !== undefined) openReports.add(opened);
  applyNextSlice(turn, opened);
}

/** Why a report of one slice is refused as a whole; in larger ones a park or step that is wrong has no effect. */
function refuseOnlySlice(turn: Turn, { head, slices }: OpenReport): Refusal | null {
  const run = slices.length === 1 ? turn.state.findRun(head.run_id) : undefined;
  return run === undefined ? null : refuseEvents(turn, run, slices[0]?.() ?? []);
}

/** The report of a command, validated and sliced; undefined when it was refused. */
function openReport(turn: Turn, command: Command<"Report">): OpenReport | undefined {
  if (typeof command.body !== "string") {
    const sliced = command.body;
    const { engine_id, run_id, lease, count } = sliced;
    const slices = sliced.slices.map((bounds) => () => eventsOfSlice(sliced, bounds));
    return newReport(command, { engine_id, run_id, lease }, count, slices);
  }
  const body = parseBody(turn, command, ReportSchema, parseJson);
  if (body === undefined) return undefined;
  const { events, engine_id, run_id, lease = null } = body;
  // A report parsed here has fewer bytes than a slice may have, so only rows count.
  const ends = sliceEnds(events, () => 0);
  const slices = ends.map((end, index) => () => (ends.length === 1 ? events : events.slice(ends[index - 1] ?? 0, end)));
  return newReport(command, { engine_id, run_id, lease }, events.length, slices);
}

/** Applies the next slice; answers after the last slice. */
export function applyNextSlice(turn: Turn, open: OpenReport): void {
  const { command, head } = open;
  const run = turn.state.findRun(head.run_id);
  if (run === undefined) {
    open.next = open.slices.length;
    return turn.answers.refuse(command, refuse("run_not_found", head.run_id));
  }
  const last = applySlice(turn, run, open, open.slices[open.next]?.() ?? []);
  open.next += 1;
  if (open.next < open.slices.length) return;
  const response = responseOf(run, open, open.count, last);
  turn.answers.json(command, 200, open.slices.length === 1 ? withStoredOrder(turn, run, response) : response);
}

/** Applies a small report as a whole, and returns its answer. */
export function applyReport(turn: Turn, run: Run, head: ReportHead, events: readonly ReportEvent[]): ReportResponse {
  const progress: SliceProgress = { head, applied: 0, movesRun: false, fenced: false, wroteTurn: 0 };
  const last = applySlice(turn, run, progress, events);
  return withStoredOrder(turn, run, responseOf(run, progress, events.length, last));
}

function responseOf(run: Run, { applied, movesRun, fenced }: SliceProgress, count: number, last: number): ReportResponse {
  const { type, name, timestamp } = run.state;
  const moved = movesRun ? { run_state: { type, name, timestamp } } : {};
  const over = fenced ? { fenced: true } : {};
  return { applied, skipped: count - applied, last_seq: last, cancel: type === "Cancelling", ...over, ...moved };
}

/** Adds the fields of STORED_ORDER to the answer to a durable run's report that was applied at once. */
function withStoredOrder(turn: Turn, run: Run, response: ReportResponse): ReportResponse {
  const lineage = run.assigned && run.flow.options.durable ? lineageOf(turn.state, run) : null;
  if (lineage === null) return response;
  const { settledWait } = lineage;
  return {
    ...response,
    ...(response.skipped === 0 ? { applied_at: turn.nowUs } : {}),
    ...(settledWait === null ? {} : { settled_wait: settledWait }),
  };
}

/** What the slices of a report have done so far. */
type SliceProgress = Pick<OpenReport, "head" | "applied" | "movesRun" | "fenced" | "wroteTurn">;

/** Events that only the engine that holds the run may send. */
function isLeased({ kind }: ReportEvent): boolean {
  return kind === "step" || kind === "park";
}

/** Applies events and the report's number in one decision. Returns the last number. */
function applySlice(turn: Turn, run: Run, open: SliceProgress, events: readonly ReportEvent[]): number {
  const { lease } = open.head;
  const standing: Standing = lease === null ? "unleased" : lease === run.assignment_id ? "leased" : "fenced";
  const fenced = standing === "fenced";
  open.fenced ||= fenced;
  if (!fenced) touchContact(turn, run);
  const sequence = sequenceOf(run, open.head, fenced);
  let last = sequence.last;
  const logs: LogsByRun = new Map();
  let wrongTimes = 0;
  for (const event of events) {
    open.movesRun ||= event.kind === "run_transition" || event.kind === "park";
    if (event.seq <= last) {
      // The first answer to an event that came after the run had left its engine may have been lost.
      open.fenced ||= isLeased(event) && standing === "leased" && event.seq > run.report_seq;
      continue;
    }
    last = event.seq;
    // Before the event is applied: a park may hand the run out again, and the number is that of this assignment.
    sequence.advance(last);
    wrongTimes += replaceUnstorableTimes(event, turn.nowUs);
    if (applyEvent(turn, run, event, standing, logs)) open.applied += 1;
    else if (isLeased(event)) open.fenced ||= !run.assigned;
  }
  if (wrongTimes > 0) warnOfTimes(turn, run, logs, wrongTimes);
  open.wroteTurn = last > sequence.last ? turn.number : 0;
  if (last > sequence.last) turn.rows.touchRun(run, false);
  appendLogs(turn, logs);
  return last;
}

/** Applies the report of a hook called without an engine: log lines, events and artifacts. Such a hook has no task runs. */
export function applyHookItems(turn: Turn, run: Run, events: readonly ReportEvent[]): void {
  const logs: LogsByRun = new Map();
  for (const event of events)
    if (event.kind === "logs" || event.kind === "custom" || event.kind === "artifact")
      applyEvent(turn, run, event, "unleased", logs);
  appendLogs(turn, logs);
}

/** The sequence of a report: that of the assignment, of an earlier engine, or of all engines that never held the run. */
function sequenceOf(run: Run, head: ReportHead, fenced: boolean): { last: number; advance(to: number): void } {
  const holds = !fenced && (run.engine_id === null || run.engine_id === head.engine_id);
  if (holds) return sequenceOfHolder(run);
  const key = keyOfFormer(run, head, fenced);
  return {
    last: run.otherSequences.get(key) ?? 0,
    advance: (to) => {
      run.otherSequences = withSequence(run.otherSequences, key, to);
    },
  };
}

/**
 * Numbers that come after a durable run has left its engine are kept apart: their steps and parks were refused, and are again
 * when the report is repeated.
 */
function sequenceOfHolder(run: Run): ReturnType<typeof sequenceOf> {
  const { assignment_id } = run;
  const key = sequenceKeyOf(assignment_id);
  return {
    last: Math.max(run.report_seq, run.otherSequences.get(key) ?? 0),
    advance: (to) => {
      const isHeld = run.assignment_id === assignment_id && (run.assigned || run.durable === null);
      if (isHeld) run.report_seq = to;
      else run.otherSequences = withSequence(run.otherSequences, key, to);
    },
  };
}

/**
 * A report under a lease uses the lease's sequence, because its engine may have been given the run again. Only leases and
 * engines to which the run was handed out have a sequence of their own, so that invented numbers take no memory.
 */
function keyOfFormer(run: Run, { engine_id, lease }: ReportHead, fenced: boolean): string {
  const key = fenced && lease !== null ? sequenceKeyOf(lease) : engine_id;
  return run.otherSequences.has(key) ? key : "";
}

/** Applies one event; false when its subject is unknown or an engine may not send it. */
function applyEvent(turn: Turn, run: Run, event: ReportEvent, standing: Standing, logs: LogsByRun): boolean {
  const fenced = standing === "fenced";
  switch (event.kind) {
    case "task_run_created":
      if (!movesTasks(run, standing)) return false;
      createTask(turn, run, event);
      return true;
    case "task_run_transition":
      return movesTasks(run, standing) && transitionTask(turn, run, event);
    case "logs":
      collectLogs(turn, run, event.logs, logs);
      return true;
    case "custom":
      return recordCustomEvent(turn, run, event, logs);
    case "run_transition":
      if (standing === "leased") moveByReport(turn, run, event.state);
      return standing === "leased";
    case "step":
      return standing === "leased" && run.assigned && refuseEvent(turn, run, event) === null && storeStep(turn, run, event);
    case "park":
      if (standing !== "leased" || !run.assigned || refuseEvent(turn, run, event) !== null) return false;
      parkByReport(turn, run, event);
      return true;
    case "artifact":
      if (!fenced) putArtifact(turn, run, event, logs);
      return !fenced;
  }
}

/**
 * Whether the report may change task runs. When a person or a rule takes the run from its engine, the task runs end with that move,
 * and the engine, which stops, would not end further ones.
 */
function movesTasks(run: Run, standing: Standing): boolean {
  const isTaken = standing === "leased" && !run.assigned && run.state.details["forced"] === true;
  return standing !== "fenced" && !isTaken;
}

function createTask(turn: Turn, run: Run, event: Extract<ReportEvent, { kind: "task_run_created" }>): void {
  if (run.tasks.has(event.external_id)) return;
  const task: TaskRun = {
    id: turn.state.nextIds.task_run,
    external_id: event.external_id,
    run_id: run.id,
    name: event.name,
    task_key: event.task_key,
    dynamic_key: event.dynamic_key,
    parents: event.parents ?? [],
    state: null,
    start_time: null,
    end_time: null,
    total_run_time: null,
    crash_count: 0,
    failure_count: 0,
    created_at: turn.nowUs,
  };
  turn.state.nextIds.task_run += 1;
  run.tasks = withEntry(run.tasks, task.external_id, task);
  run.taskCounts = { ...run.taskCounts, Pending: (run.taskCounts.Pending ?? 0) + 1 };
  run.parentsCount += task.parents.length;
  turn.rows.countTask(run.flow, null, "Pending");
  turn.rows.touchTask(task);
}

function transitionTask(turn: Turn, run: Run, event: Extract<ReportEvent, { kind: "task_run_transition" }>): boolean {
  const task = run.tasks.get(event.external_id);
  if (task === undefined) return false;
  const decision = decideTransition(task.state, event.state, event.state.timestamp, event.force === true);
  if (decision.accepted) moveTask(turn, run, task, decision.state);
  return true;
}

function taskIdOf(run: Run, externalId: string | null | undefined): number | null {
  return externalId == null ? null : (run.tasks.get(externalId)?.id ?? null);
}

/** Log lines are stored under the run that they name. */
function collectLogs(turn: Turn, run: Run, sent: Extract<ReportEvent, { kind: "logs" }>["logs"], logs: LogsByRun): void {
  for (const line of sent) {
    const owner = line.run_id === run.id ? run : turn.state.findRun(line.run_id);
    if (owner === undefined) continue;
    const taskId = line.task_run_id ?? taskIdOf(owner, line.task_run_external_id);
    addLine(logs, owner, [taskId, line.level, line.logger, line.timestamp, cutText(line.message, LOG_MESSAGE_LENGTH_MAX)]);
  }
}

/**
 * Skips an event with too large a payload or a reserved name, with a warning in the run's log; the rest of the report is
 * applied. Returns false for such a name.
 */
function recordCustomEvent(turn: Turn, run: Run, event: Extract<ReportEvent, { kind: "custom" }>, logs: LogsByRun): boolean {
  const wrong = checkReportedName(event.name);
  if (wrong !== null) {
    addWarning(turn, run, logs, `an event was not recorded: ${wrong}`);
    return false;
  }
  const payload = canonicalJson(event.payload ?? {});
  if (exceedsBytes(payload, PAYLOAD_BYTES_MAX))
    addWarning(turn, run, logs, `event "${event.name}" was not recorded: its payload exceeds ${PAYLOAD_BYTES_MAX} bytes`);
  else turn.events.custom(event.name, run, taskIdOf(run, event.task_run_external_id), payload);
  return true;
}

/** Skips an artifact above the limit, with a warning in the run's log; the rest of the report is applied. */
function putArtifact(turn: Turn, run: Run, event: Extract<ReportEvent, { kind: "artifact" }>, logs: LogsByRun): void {
  const data = canonicalJson(event.data);
  if (exceedsBytes(data, ARTIFACT_BYTES_MAX)) {
    const name = event.key == null ? event.artifact_kind : `"${event.key}"`;
    return addWarning(turn, run, logs, `artifact ${name} exceeds 1 MB and was not stored`);
  }
  const known = turn.state.findArtifact(run, event.external_id);
  const id = known?.id ?? turn.state.nextIds.artifact;
  if (known === null) turn.state.nextIds.artifact += 1;
  const createdAt = known?.created_at ?? turn.nowUs;
  run.artifacts = withEntry(run.artifacts, event.external_id, { id, created_at: createdAt });
  const taskId = taskIdOf(run, event.task_run_external_id);
  const { external_id, key, artifact_kind } = event;
  turn.rows.put("put_artifact", {
    id,
    external_id,
    run_id: run.id,
    task_run_id: taskId,
    key: key ?? null,
    kind: artifact_kind,
    data,
    created_at: createdAt,
    updated_at: turn.nowUs,
  });
  turn.stream.add("artifact.updated", id, run.id);
}
