/** What the system knows of a process: whether it lives, and when it started, so that a reused pid is told from the old process. */
import { readFileSync } from "node:fs";

/** Positions of the parent and the start time (in clock ticks since boot) behind the command name in /proc/<pid>/stat, see proc(5). */
const PARENT_FIELD = 1;
const START_TIME_FIELD = 19;

export interface ProcessState {
  alive: boolean;
  /** Clock ticks since boot; null where the system has no /proc. */
  started: number | null;
}

/** A process that ended but was not collected by its parent counts as gone. */
export function readProcess(pid: number): ProcessState {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    // Somebody else's process is alive, but never ours to signal.
    return { alive: (cause as NodeJS.ErrnoException).code === "EPERM", started: null };
  }
  try {
    const fields = readFields(pid);
    return { alive: fields[0] !== "Z" && fields[0] !== "X", started: Number(fields[START_TIME_FIELD]) };
  } catch {
    return { alive: true, started: null };
  }
}

/** Null where it cannot be read. */
export function parentOf(pid: number): number | null {
  try {
    return Number(readFields(pid)[PARENT_FIELD]);
  } catch {
    return null;
  }
}

function readFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The command name is in parentheses and may hold anything, so what follows is counted from the last one.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** The same process as the one that was seen before: alive, with the same start time where both are known. */
export function isSameProcess(pid: number, started: number | null): boolean {
  const now = readProcess(pid);
  return now.alive && (started === null || now.started === null || started === now.started);
}

/** The user a process belongs to, null where that cannot be read. */
export function userOf(pid: number): number | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const match = /^Uid:\s+(\d+)/m.exec(status);
    return match === null ? null : Number(match[1]);
  } catch {
    return null;
  }
}
