/**
 * DELETE /api/flows/{id}. A flow with few runs goes in one decision. The runs of others are deleted a hundred at a time before:
 * each slice is a decision of its own that waits for the commit of the slice before, so no commit grows with the flow, and other
 * commands run in between. The flow itself, its schedules, and the runs that engines execute go with the last decision, which
 * has the answer. After a restart on the way the flow is there with the runs that are left.
 */
import { refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import type { Flow } from "../../core/state/flow.ts";
import type { OpenDeletion } from "../../core/state/open-deletion.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { DISPATCHER } from "../../names.ts";
import { runsOfProject } from "../../records/flows/register-flow.ts";
import type { DeletionSlice } from "../dispatcher-messages.ts";
import { noteDeletion } from "../durable/ends.ts";
import { enqueue, requeue } from "../hand-out/hand-out.ts";
import { dropRun, forgetRun } from "./drop-run.ts";

/** Runs of one slice: some 20 ms of the writer. */
const RUNS_PER_SLICE = 100;
/** Task runs of the runs in one slice: each has some rows, and events that take over borrowed fields. */
const TASK_RUNS_PER_SLICE = 500;

/** Deletes the flow with its runs. Refused while this server has the flow registered from code. */
export function deleteFlowCommand(turn: Turn, command: Command): void {
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", command.target));
  if (flow.live) return turn.answers.refuse(command, refuse("flow_live", flow.name));
  const open = turn.state.openDeletions.get(flow.id);
  if (open !== undefined) {
    open.commands.push(command);
    return;
  }
  // Take the runs out of the queue first, so that resources freed by one run do not start the next. Runs that are not due stay
  // with their schedules, which decide fires until the flow is gone.
  const isQueued = ({ place }: Run): boolean => place !== "none" && place !== "future";
  const taken = [...turn.state.runs.values()].filter((run) => run.flow === flow && isQueued(run));
  for (const run of taken) turn.state.queue.leave(run);
  turn.state.openDeletions.set(flow.id, { commands: [command], taken, wroteTurn: 0, called: false });
  deletionSlice(turn, flow.id);
}

/** Requests the next slice of each deletion whose last slice is committed, as a separate step. */
export function callDeletions(turn: Turn, committedTurn: number): void {
  for (const [flow_id, open] of turn.state.openDeletions) {
    if (open.called || open.wroteTurn > committedTurn) continue;
    open.called = true;
    turn.out.send(DISPATCHER, { kind: "DeletionSlice", answers: open.commands[0] ?? null, flow_id } satisfies DeletionSlice);
  }
}

export function deletionSlice(turn: Turn, flowId: number): void {
  const { flows, openDeletions } = turn.state;
  const [flow, open] = [flows.get(flowId), openDeletions.get(flowId)];
  if (flow === undefined || open === undefined) return;
  open.called = false;
  const [command] = open.commands;
  const caused = command === undefined ? turn : turn.causedBy(command);
  if (flow.live) return giveUp(caused, flow, open);
  const most = Math.min(RUNS_PER_SLICE, turn.state.settings.backfillSliceRuns);
  const { runs, more } = deletableRuns(caused, flow, most);
  if (!more) return finish(caused, flow, open);
  if (runs.length > 0) open.wroteTurn = turn.number;
  let taskRuns = 0;
  for (const run of runs) {
    dropRun(caused, run);
    if (run.durable !== null) noteDeletion(caused, run);
    taskRuns += Object.values(run.taskCounts).reduce((sum, count) => sum + count, 0);
    if (taskRuns >= TASK_RUNS_PER_SLICE) return;
  }
}

/**
 * The next runs of the flow that no engine holds and whose fires are past: ended ones, parked ones, and those that wait.
 * `more`: there are others, or runs whose deletion by another step is not committed.
 */
function deletableRuns(turn: Turn, flow: Flow, most: number): { runs: Run[]; more: boolean } {
  const { state } = turn;
  const found = new Set<Run>();
  const add = (ids: readonly number[]) => {
    for (const id of ids) {
      const run = state.findRun(id);
      if (run?.flow === flow && isDeletable(turn, run)) found.add(run);
    }
  };
  const fires = state.schedules.of(flow).reduce((sum, { ended }) => sum + ended.size, 0);
  const stored = state.reader.endedRunsOf(flow.id, most + fires + 1);
  add(stored);
  const away = found.size <= most ? state.parked.awayOf(flow, most + 1 - found.size) : [];
  state.parked.recall(away);
  add(away);
  for (const run of state.runs.values()) {
    if (found.size > most) break;
    if (run.flow === flow && isDeletable(turn, run)) found.add(run);
  }
  return { runs: [...found].slice(0, most), more: found.size > most || stored.length > most + fires };
}

/** A fire gets another run if its own run is deleted before the schedule. */
function isDeletable({ state }: Turn, run: Run): boolean {
  const schedule = run.schedule_id === null ? undefined : state.schedules.get(run.schedule_id);
  if (schedule !== undefined && (run.scheduled_time ?? 0) > schedule.consumed_until) return false;
  return isEnded(run) || !run.assigned;
}

/** The flow has been registered from code since. The runs that are left go on. */
function giveUp(turn: Turn, flow: Flow, { commands, taken }: OpenDeletion): void {
  turn.state.openDeletions.delete(flow.id);
  const left = taken.filter((run) => turn.state.runs.get(run.id) === run && run.place === "none" && !run.assigned);
  for (const run of left) if (run.state.type === "Scheduled" && run.durable?.park == null) enqueue(turn, run);
  for (const command of commands) turn.answers.refuse(command, refuse("flow_live", flow.name));
}

function finish(turn: Turn, flow: Flow, { commands }: OpenDeletion): void {
  const { state } = turn;
  state.openDeletions.delete(flow.id);
  state.parked.recallFlow(flow);
  // Crashed runs whose rerun is due may be in the store alone.
  const crashed = state.room.crashedRuns().flatMap((id) => state.findRun(id) ?? []);
  const known = new Set([...state.runs.values(), ...state.endedRuns(), ...crashed]);
  const runs = [...known].filter((run) => run.flow === flow);
  for (const run of runs) state.queue.leave(run);
  for (const run of runs) {
    forgetRun(turn, run);
    if (run.durable !== null) noteDeletion(turn, run);
    turn.stream.add("run.deleted", run.id);
  }
  for (const schedule of state.schedules.of(flow)) turn.stream.add("schedule.deleted", schedule.id);
  state.schedules.removeFlow(flow);
  state.backfills.removeFlow(flow.id);
  // Upstream flows lose the priority inherited from this flow, so their waiting runs change place.
  requeue(turn, runsOfProject(turn, flow.project), () => state.removeFlow(flow));
  turn.rows.put("delete_flow", { id: flow.id });
  for (const command of commands) turn.answers.text(command, 204, null);
}
