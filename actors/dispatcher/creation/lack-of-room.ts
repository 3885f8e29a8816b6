/** What happens to runs beyond the most that may be unfinished: requests are refused, other runs fail. */
import { type Refusal, refuse } from "#protocol/errors";
import type { Turn } from "../../core/turn.ts";
import { SERVER_LOG } from "../../names.ts";
import type { EndedAtOnce } from "./overlap.ts";

/**
 * The end of a run that finds no room when a schedule or another run creates it: no client would see a refusal, but a Failed
 * run can be retried.
 */
export function endForLackOfRoom(turn: Turn): EndedAtOnce {
  logLackOfRoom(turn);
  const { message } = refuse("no_room_for_runs", 1, turn.state.room.max);
  const details = { reason: "no_room" };
  return { state: { type: "Failed", name: "Failed", timestamp: turn.nowUs, message, details }, extra: null };
}

function logLackOfRoom({ state, nowUs, out }: Turn): void {
  if (!state.room.isToBeTold(nowUs)) return;
  const text = `${state.room.max} runs are unfinished, the most that may be ([server] max_unfinished_runs): requests for further runs are answered 503, runs of schedules and of flows that follow others fail`;
  out.send(SERVER_LOG, { level: "warn", text });
}

/** The refusal of this many further runs, or null when there is room. */
export function lackOfRoom(turn: Turn, runs: number): Refusal | null {
  const { room } = turn.state;
  if (room.hasFor(runs)) return null;
  logLackOfRoom(turn);
  return refuse("no_room_for_runs", runs, room.max);
}
