/**
 * States of runs and task runs (interface: "States and transitions").
 * A state has a type (one of nine) and a name: the type itself, a sub-state of the catalogue, or free text.
 */

/** The nine state types, in the order the vocabulary lists them. */
export const STATE_TYPES = [
  "Scheduled",
  "Pending",
  "Running",
  "Completed",
  "Failed",
  "Cancelled",
  "Crashed",
  "Paused",
  "Cancelling",
] as const;

/** The types of states of runs and task runs. */
export type StateType = (typeof STATE_TYPES)[number];

/** Sub-state names of the catalogue and the type each belongs to, in vocabulary order. */
export const SUB_STATES = {
  Late: "Scheduled",
  AwaitingRetry: "Scheduled",
  AwaitingResource: "Scheduled",
  Retrying: "Running",
  TimedOut: "Failed",
  Cached: "Completed",
  Skipped: "Completed",
} as const satisfies Record<string, StateType>;

const TERMINAL: ReadonlySet<string> = new Set<StateType>(["Completed", "Failed", "Cancelled", "Crashed"]);
const KNOWN: ReadonlySet<string> = new Set(STATE_TYPES);

/** The wire form of the state of a run or task run. */
export interface State {
  type: StateType;
  name: string;
  /** Microseconds since the Unix epoch, UTC. */
  timestamp: number;
  message: string | null;
  details: Record<string, unknown>;
}

/** True for the four types that end a run or task run. */
export function isTerminal(type: StateType): boolean {
  return TERMINAL.has(type);
}

/** Size in bytes of a result that was too large to store; null for every other state. */
export function lostResultBytes({
  type,
  details,
}: Pick<State, "type"> & { details?: State["details"] | undefined }): number | null {
  const bytes = type === "Completed" && details?.["result"] === undefined ? details?.["result_bytes"] : null;
  return typeof bytes === "number" ? bytes : null;
}

/** Why a result was not stored that is no JSON; null for every other state. */
export function lostResultReason({
  type,
  details,
}: Pick<State, "type"> & { details?: State["details"] | undefined }): string | null {
  const reason = type === "Completed" && details?.["result"] === undefined ? details?.["result_lost"] : null;
  return typeof reason === "string" ? reason : null;
}

/** When the server runs a crashed run again, in microseconds; null for a run that is not run again. */
export function rerunAt({ type, details }: Pick<State, "type"> & { details?: State["details"] | undefined }): number | null {
  const dueUs = type === "Crashed" ? details?.["rerun_at"] : null;
  return typeof dueUs === "number" ? dueUs : null;
}

/** True when the text is one of the nine types. */
export function isStateType(text: string): text is StateType {
  return KNOWN.has(text);
}

/** The type implied by a state name: a known sub-state overrides the type sent with it. */
export function typeOfName(name: string, sent: StateType): StateType {
  return Object.hasOwn(SUB_STATES, name) ? SUB_STATES[name as keyof typeof SUB_STATES] : sent;
}
