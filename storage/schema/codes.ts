/** Small integer codes for repeated text: state types and the kinds of the coarse index. */
import { STATE_TYPES, type StateType } from "#protocol/records/state";
import type { SqlValue } from "../sqlite/driver.ts";

const STATE_CODE = new Map<SqlValue, number>(STATE_TYPES.map((type, index) => [type, index]));

/** The code of a state type. Throws for an unknown type, because a row with such a code could not be read. */
export function stateCode(type: SqlValue): number {
  const code = STATE_CODE.get(type);
  if (code === undefined) throw new Error(`not a state type: ${String(type)}`);
  return code;
}

export function stateCodeOrNull(type: SqlValue): number | null {
  return type === null ? null : stateCode(type);
}

export function stateType(code: number): StateType {
  const type = STATE_TYPES[code];
  if (type === undefined) throw new Error(`not a state code: ${code}`);
  return type;
}

/** Codes of the state types that end a run, in the order of STATE_TYPES. */
export const ENDED_CODES: readonly number[] = ["Completed", "Failed", "Cancelled", "Crashed"].map(stateCode);

/** Codes of the other state types. */
export const UNFINISHED_CODES: readonly number[] = STATE_TYPES.map(stateCode).filter((code) => !ENDED_CODES.includes(code));

/** Column `kind` of counts. */
export const COUNT_KIND = { runs: 0, task_runs: 1 } as const;

/** Column `kind` of stretches: whose ids a stretch has, and what `value` holds. */
export const STRETCH_KIND = {
  /** Events by flow id. */
  event_flow: 0,
  /** Events by code of their name. */
  event_name: 1,
  /** Events by code of their resource's kind (names). */
  event_resource: 2,
  /** Task runs by the flow of their run. */
  task_flow: 3,
  /** Task runs by state type, once ended. */
  task_state: 4,
  /** Task runs by code of a state name that differs from its type (names). */
  task_state_name: 5,
} as const;

/** Ids per stretch: few enough to scan in 50 us, enough to save nine in ten index rows. */
export const STRETCH_IDS = 256;

export function stretchOf(id: number): number {
  return Math.floor(id / STRETCH_IDS);
}

/** The stretches that contain `count` ids starting at `first`. */
export function* stretchesOf(first: number, count: number): Generator<number> {
  for (let stretch = stretchOf(first); stretch <= stretchOf(first + count - 1); stretch += 1) yield stretch;
}

/** Tables whose ids clients see; `counters` holds the highest id assigned in each. */
export const COUNTED = [
  "flows",
  "runs",
  "task_runs",
  "events",
  "logs",
  "artifacts",
  "leases",
  "schedules",
  "backfills",
  "waits",
  "rules",
  "firings",
  "expectations",
  "outbound",
  "stream",
] as const;

export type Counted = (typeof COUNTED)[number];
