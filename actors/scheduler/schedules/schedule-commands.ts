/** The commands of schedules: requests and answers. */

import { Refusal, refuse } from "#protocol/errors";
import { NAME_LENGTH_MAX, PREVIEW_COUNT } from "#protocol/limits";
import type { Command } from "#protocol/wire/command";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { parametersError } from "../fires/fire-parameters.ts";
import { addSkips, chooseFires, downstreamSkips, isoTime, removeSkip } from "../fires/skips.ts";
import {
  addSchedule,
  changeParameters,
  changeSpec,
  checkSpec,
  editedSpec,
  rebuild,
  removeSchedule,
  sentParameters,
} from "./edit-schedule.ts";
import { pauseSchedule } from "./pause-schedule.ts";
import { replaceSchedule, withKeptAnchor } from "./replace-schedule.ts";
import { resumeSchedule } from "./resume-schedule.ts";
import { scheduleRow } from "./schedule-row.ts";

const PAUSED = "paused";

export function createScheduleCommand(turn: Turn, command: Command<"CreateSchedule">): void {
  const body = command.body;
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", command.target));
  const checked = checkSpec(turn, body, zoneFor(turn, command));
  if (!checked.ok) return turn.answers.refuse(command, refuse("invalid", checked.error));
  const wrong = parametersError(turn, flow, checked.ready, sentParameters(body.parameters), null);
  if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  const source = command.mcp_client === undefined ? "ui" : "mcp";
  const schedule = addSchedule(turn, flow, body, checked.ready, { source, codeKey: null, persist: body.persist ?? true });
  turn.answers.json(command, 201, scheduleRow(turn, schedule));
}

/** An MCP client is rarely in the server's zone, and cannot see that zone, so the default differs. */
function zoneFor(turn: Turn, command: Command): string {
  return command.mcp_client === undefined ? turn.state.settings.timezone : "UTC";
}

export function previewScheduleCommand(turn: Turn, command: Command<"PreviewSchedule">): void {
  const body = command.body;
  // A preview of an interval without an anchor counts from the epoch, so that it is repeatable.
  const checked = checkSpec(turn, body.kind === "interval" ? { ...body, anchor: body.anchor ?? 0 } : body);
  if (!checked.ok) return turn.answers.refuse(command, refuse("invalid", checked.error));
  const { fires } = checked.ready;
  const count = Math.min(body.count ?? PREVIEW_COUNT[0], PREVIEW_COUNT[1]);
  turn.answers.json(command, 200, { next: fires.after(turn.nowUs, count), timezone: fires.timezone });
}

/** The schedule of a command; refuses the command if there is none. */
function scheduleOf(turn: Turn, command: Command): Schedule | undefined {
  const schedule = turn.state.schedules.get(command.target);
  if (schedule === undefined) turn.answers.refuse(command, refuse("schedule_not_found", command.target));
  return schedule;
}

export function patchScheduleCommand(turn: Turn, command: Command<"PatchSchedule">): void {
  const body = command.body;
  const schedule = scheduleOf(turn, command);
  if (schedule === undefined) return;
  const edited = editedSpec(turn, schedule.spec, body);
  const checked = edited === null ? null : checkSpec(turn, edited, zoneFor(turn, command), schedule.spec);
  if (checked?.ok === false) return turn.answers.refuse(command, refuse("invalid", checked.error));
  const parameters = body.parameters == null ? schedule.parameters : sentParameters(body.parameters);
  if (checked !== null || body.parameters != null) {
    const wrong = parametersError(turn, schedule.flow, checked?.ready ?? schedule, parameters, schedule.code_key);
    if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  }
  if (checked !== null) changeSpec(turn, schedule, checked.ready);
  changeParameters(turn, schedule, parameters);
  schedule.catchup = body.catchup ?? schedule.catchup;
  schedule.catchup_max = body.catchup_max ?? schedule.catchup_max;
  schedule.persist = body.persist ?? schedule.persist;
  rebuild(turn, schedule);
  turn.answers.json(command, 200, scheduleRow(turn, schedule));
}

/** PUT with a key: creates the schedule, or makes it what the body says. The same body again changes nothing. */
export function putScheduleCommand(turn: Turn, command: Command<"PutSchedule">): void {
  const { body, target_name: key = "" } = command;
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", command.target));
  if (key.length > NAME_LENGTH_MAX)
    return turn.answers.refuse(command, refuse("invalid", `the key has more than ${NAME_LENGTH_MAX} characters`));
  const known = turn.state.schedules.of(flow).find(({ code_key }) => code_key === key);
  const checked = checkSpec(turn, withKeptAnchor(body, known), zoneFor(turn, command), known?.spec ?? null);
  if (!checked.ok) return turn.answers.refuse(command, refuse("invalid", checked.error));
  const wrong = parametersError(turn, flow, checked.ready, sentParameters(body.parameters), key);
  if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  if (known !== undefined) {
    replaceSchedule(turn, known, body, checked.ready);
    return turn.answers.json(command, 200, scheduleRow(turn, known));
  }
  const source = command.mcp_client === undefined ? "ui" : "mcp";
  const schedule = addSchedule(turn, flow, body, checked.ready, { source, codeKey: key, persist: body.persist ?? true });
  turn.answers.json(command, 201, scheduleRow(turn, schedule));
}

export function deleteScheduleCommand(turn: Turn, command: Command): void {
  const schedule = scheduleOf(turn, command);
  if (schedule === undefined) return;
  if (schedule.source === "code" && command.mcp_client !== undefined)
    return turn.answers.refuse(command, refuse("code_schedule", schedule.id));
  removeSchedule(turn, schedule);
  turn.answers.text(command, 204, null);
}

export function pauseScheduleCommand(turn: Turn, command: Command): void {
  const schedule = scheduleOf(turn, command);
  if (schedule === undefined) return;
  pauseSchedule(turn, schedule, PAUSED, null);
  turn.answers.json(command, 200, scheduleRow(turn, schedule));
}

export function resumeScheduleCommand(turn: Turn, command: Command): void {
  const schedule = scheduleOf(turn, command);
  if (schedule === undefined) return;
  resumeSchedule(turn, schedule);
  turn.answers.json(command, 200, scheduleRow(turn, schedule));
}

/** All schedules of a flow; empty for an unknown flow. */
function schedulesOf(turn: Turn, command: Command): Schedule[] {
  const flow = turn.state.flows.get(command.target);
  return flow === undefined ? [] : turn.state.schedules.of(flow);
}

export function pauseFlowCommand(turn: Turn, command: Command): void {
  const schedules = schedulesOf(turn, command);
  for (const schedule of schedules) pauseSchedule(turn, schedule, PAUSED, null);
  turn.answers.json(command, 200, { paused: schedules.length });
}

export function resumeFlowCommand(turn: Turn, command: Command): void {
  const schedules = schedulesOf(turn, command);
  for (const schedule of schedules) resumeSchedule(turn, schedule);
  turn.answers.json(command, 200, { resumed: schedules.length });
}

export function skipFiresCommand(turn: Turn, command: Command<"SkipFires">): void {
  const body = command.body;
  const schedule = scheduleOf(turn, command);
  if (schedule === undefined) return;
  const chosen = chooseFires(turn, schedule, body);
  if (chosen instanceof Refusal) return turn.answers.refuse(command, chosen);
  addSkips(turn, schedule, chosen, body.by ?? "api");
  const downstream = downstreamSkips(turn, schedule, chosen);
  turn.answers.json(command, 200, { schedule: scheduleRow(turn, schedule), skipped: chosen, downstream });
}

export function undoSkipCommand(turn: Turn, command: Command<"UndoSkip">): void {
  const { fire } = command.body;
  const schedule = scheduleOf(turn, command);
  if (schedule === undefined) return;
  if (fire <= turn.nowUs) return turn.answers.refuse(command, refuse("invalid", `${isoTime(fire)} has passed`));
  if (!schedule.skips.has(fire)) return turn.answers.refuse(command, refuse("skip_not_found"));
  removeSkip(turn, schedule, fire);
  turn.answers.json(command, 200, scheduleRow(turn, schedule));
}
