/** DELETE /api/runs/{id} and DELETE /api/flows/{id}. */

import { refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import { isEnded } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { runsOfProject } from "../../records/flows/register-flow.ts";
import { skipDeletedFire } from "../../scheduler/fires/skips.ts";
import { noteDeletion } from "../durable/ends.ts";
import { requeue } from "../hand-out/hand-out.ts";
import { cancelRun } from "./cancel-run.ts";
import { dropRun, forgetRun } from "./drop-run.ts";
import { moveRun } from "./move-run.ts";

/** Deletes a run in any state; an unfinished run is cancelled first. Its events stay. */
export function deleteRunCommand(turn: Turn, command: Command): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  if (!isEnded(run)) cancelRun(turn, run, null);
  if (!isEnded(run)) {
    moveRun(turn, run, { type: "Cancelled", name: "Cancelled", timestamp: turn.nowUs, message: "deleted", details: {} });
  }
  const schedule = run.schedule_id === null ? undefined : turn.state.schedules.get(run.schedule_id);
  if (schedule !== undefined) skipDeletedFire(turn, schedule, run);
  dropRun(turn, run);
  if (run.durable !== null) noteDeletion(turn, run);
  turn.answers.text(command, 204, null);
}

/** Deletes the flow with its runs. Refused while this server has the flow registered from code. */
export function deleteFlowCommand(turn: Turn, command: Command): void {
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", command.target));
  if (flow.live) return turn.answers.refuse(command, refuse("flow_live", flow.name));
  turn.state.parked.recallFlow(flow);
  // Crashed runs whose rerun is due may be in the store alone.
  const crashed = turn.state.room.crashedRuns().flatMap((id) => turn.state.findRun(id) ?? []);
  const known = new Set([...turn.state.runs.values(), ...turn.state.endedRuns(), ...crashed]);
  const runs = [...known].filter((run) => run.flow === flow);
  // Take all runs out of the queue first, so that resources freed by one run do not start the next.
  for (const run of runs) turn.state.queue.leave(run);
  for (const run of runs) {
    forgetRun(turn, run);
    if (run.durable !== null) noteDeletion(turn, run);
    turn.stream.add("run.deleted", run.id);
  }
  for (const schedule of turn.state.schedules.of(flow)) turn.stream.add("schedule.deleted", schedule.id);
  turn.state.schedules.removeFlow(flow);
  turn.state.backfills.removeFlow(flow.id);
  // Upstream flows lose the priority inherited from this flow, so their waiting runs change place.
  requeue(turn, runsOfProject(turn, flow.project), () => turn.state.removeFlow(flow));
  turn.rows.put("delete_flow", { id: flow.id });
  turn.answers.text(command, 204, null);
}
