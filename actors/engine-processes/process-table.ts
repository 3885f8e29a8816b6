/**
 * Process status from the system: whether a process lives and when it started, to distinguish it from a later process with
 * the same pid.
 */
import { readFileSync } from "node:fs";

/**
 * Positions of the parent and the start time (clock ticks since boot) after the command name in /proc/<pid>/stat, see
 * proc(5).
 */
const PARENT_FIELD = 1;
const START_TIME_FIELD = 19;

export interface ProcessState {
  alive: boolean;
  /** Clock ticks since boot; null without /proc. */
  started: number | null;
}

/** A zombie (ended but not yet collected by its parent) counts as gone. */
export function readProcess(pid: number): ProcessState {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    // A process of another user is alive, but must never be signalled.
    return { alive: (cause as NodeJS.ErrnoException).code === "EPERM", started: null };
  }
  try {
    const fields = readFields(pid);
    return { alive: fields[0] !== "Z" && fields[0] !== "X", started: Number(fields[START_TIME_FIELD]) };
  } catch {
    return { alive: true, started: null };
  }
}

/** Null when unreadable. */
export function parentOf(pid: number): number | null {
  try {
    return Number(readFields(pid)[PARENT_FIELD]);
  } catch {
    return null;
  }
}

function readFields(pid: number): string[] {
  // As UTF-8, because Node allocates 64 KiB for each read of a file without a size in another encoding.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The command name is in parentheses and may contain any character, so count fields from the last parenthesis.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** True for the process that was seen before: alive, and with the same start time where both are known. */
export function isSameProcess(pid: number, started: number | null): boolean {
  const now = readProcess(pid);
  return now.alive && (started === null || now.started === null || started === now.started);
}

/** The user of a process, null when unreadable. */
export function userOf(pid: number): number | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const match = /^Uid:\s+(\d+)/m.exec(status);
    return match === null ? null : Number(match[1]);
  } catch {
    return null;
  }
}
