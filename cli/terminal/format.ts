/** Times, durations and states in human-readable form. All times are microseconds since the Unix epoch. */

import type { State, StateType } from "#protocol/records/state";
import type { Style } from "./terminal.ts";

const US_PER_MS = 1_000;
const US_PER_SEC = 1_000_000;

/** "0.24 s", "12.3 s", "4 m 05 s", "2 h 07 m", "3 d 4 h": at most two units. */
export function duration(us: number): string {
  const seconds = us / US_PER_SEC;
  if (us < US_PER_MS) return `${Math.max(0, Math.round(us))} \u00b5s`;
  if (seconds < 1) return `${Math.round(us / US_PER_MS)} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} m ${String(whole % 60).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${String(minutes % 60).padStart(2, "0")} m` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Local time of day with milliseconds, for log lines. */
export function clockTime(us: number): string {
  const time = new Date(us / US_PER_MS);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

/** Local date and time to the second. */
export function dateTime(us: number): string {
  const time = new Date(us / US_PER_MS);
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

interface StateLook {
  /** Shapes differ without colour: an outline waits, a disc succeeded, a square failed, a diamond needs a person. */
  mark: string;
  style: Style;
}

const LOOKS: Record<StateType, StateLook> = {
  Scheduled: { mark: "\u25cb", style: "dim" },
  Pending: { mark: "\u25cb", style: "cyan" },
  Running: { mark: "\u25d4", style: "blue" },
  Completed: { mark: "\u25cf", style: "green" },
  Failed: { mark: "\u25a0", style: "red" },
  Cancelled: { mark: "\u2298", style: "dim" },
  Crashed: { mark: "\u25a0", style: "magenta" },
  Paused: { mark: "\u25c6", style: "yellow" },
  Cancelling: { mark: "\u2298", style: "yellow" },
};

const NAME_LOOKS: Record<string, StateLook> = {
  Late: { mark: "\u25c6", style: "yellow" },
  Skipped: { mark: "\u00bb", style: "dim" },
};

export function stateLook(state: Pick<State, "type" | "name">): StateLook {
  return NAME_LOOKS[state.name] ?? LOOKS[state.type] ?? { mark: "\u25cb", style: "dim" };
}

/** Mark and name of a state. */
export function stateText(state: Pick<State, "type" | "name">): string {
  return `${stateLook(state).mark} ${state.name}`;
}

const LEVEL_NAMES: [number, string, Style][] = [
  [50, "CRITICAL", "red"],
  [40, "ERROR", "red"],
  [30, "WARNING", "yellow"],
  [20, "INFO", "blue"],
  [0, "DEBUG", "dim"],
];

/** Name and style of a log level; numbers in between belong to the level below. */
export function levelLook(level: number): { name: string; style: Style } {
  const [, name, style] = LEVEL_NAMES.find(([from]) => level >= from) ?? [0, "DEBUG", "dim"];
  return { name, style };
}

/** "1 run", "2 runs", "1,204 runs". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
