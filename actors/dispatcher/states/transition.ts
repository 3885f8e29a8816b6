/**
 * The state table of runs and task runs, as data. Decides one proposed move, independently of engines, queues and time,
 * except for the age of the current state.
 */
import type { TransitionReason } from "#protocol/errors";
import { DUPLICATE_WINDOW_US, MESSAGE_LENGTH_MAX, STATE_NAME_LENGTH_MAX } from "#protocol/limits";
import { isTerminal, type State, type StateType, typeOfName } from "#protocol/records/state";
import { boundedDetails, cutText } from "../reports/sent-text.ts";

type Cell = "ok" | TransitionReason;
type Row = Readonly<Record<StateType, Cell>>;

const ANY: Row = {
  Scheduled: "ok",
  Pending: "invalid-entry",
  Running: "invalid-entry",
  Completed: "ok",
  Failed: "ok",
  Cancelled: "ok",
  Crashed: "ok",
  Paused: "invalid-entry",
  Cancelling: "ok",
};

const TERMINAL: Row = {
  Scheduled: "terminal",
  Pending: "terminal",
  Running: "terminal",
  Completed: "terminal",
  Failed: "terminal",
  Cancelled: "terminal",
  Crashed: "terminal",
  Paused: "terminal",
  Cancelling: "terminal",
};

/** From (rows) to (columns). "none" is a task run before its first move. */
export const TRANSITIONS: Readonly<Record<StateType | "none", Row>> = {
  Scheduled: { ...ANY, Pending: "ok", Running: "ok" },
  Pending: { ...ANY, Running: "ok" },
  Running: { ...ANY, Paused: "ok" },
  Paused: { ...ANY, Running: "ok" },
  Cancelling: {
    ...ANY,
    Scheduled: "cancelling",
    Completed: "cancelling",
    Failed: "cancelling",
    Crashed: "cancelling",
    Cancelling: "cancelling",
  },
  Completed: TERMINAL,
  Failed: TERMINAL,
  Cancelled: TERMINAL,
  Crashed: TERMINAL,
  none: { ...ANY, Pending: "ok", Cancelled: "invalid-entry" },
};

export interface ProposedState {
  type: StateType;
  name?: string | null;
  message?: string | null;
  details?: Record<string, unknown> | null;
  timestamp: number;
}

export type TransitionDecision = { accepted: true; state: State } | { accepted: false; reason: TransitionReason };

/** Decides a proposed move. A forced move is always accepted, and marked in its details. */
export function decideTransition(
  current: State | null,
  proposed: ProposedState,
  nowUs: number,
  force: boolean,
): TransitionDecision {
  const name = stateNameOf(proposed);
  const type = typeOfName(name, proposed.type);
  const details = boundedDetails(proposed.details ?? {});
  const message = proposed.message == null ? null : cutText(proposed.message, MESSAGE_LENGTH_MAX);
  const state: State = { type, name, timestamp: proposed.timestamp, message, details };
  if (force) return { accepted: true, state: { ...state, details: { ...details, forced: true } } };
  const cell = cellOf(current, state, nowUs);
  return cell === "ok" ? { accepted: true, state } : { accepted: false, reason: cell };
}

/** The name under which a proposed state is stored. */
export function stateNameOf({ type, name }: { type: string; name?: string | null | undefined }): string {
  return name ? cutText(name, STATE_NAME_LENGTH_MAX) : type;
}

function cellOf(current: State | null, state: State, nowUs: number): Cell {
  if (current === null) return TRANSITIONS.none[state.type];
  if (isTerminal(current.type)) return "terminal";
  const repeated = current.type === state.type && current.name === state.name;
  if (repeated && Math.abs(nowUs - current.timestamp) < DUPLICATE_WINDOW_US) return "duplicate";
  return TRANSITIONS[current.type][state.type];
}
