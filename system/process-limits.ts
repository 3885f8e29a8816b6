/** The limits that the operating system sets for this process (`ulimit`). */
import { readFileSync } from "node:fs";

export interface ProcessLimits {
  /** Open files and connections; Infinity where there is no limit or the system reports none. */
  openFiles: number;
  /** Bytes of address space, used or not; Infinity as above. */
  addressSpaceBytes: number;
}

export function processLimits(): ProcessLimits {
  try {
    return parseLimits(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return { openFiles: openFilesReported(), addressSpaceBytes: Number.POSITIVE_INFINITY };
  }
}

/** Parses the table of Linux: name, soft limit, hard limit. */
export function parseLimits(text: string): ProcessLimits {
  const soft = (name: string): number => {
    const value = new RegExp(`^${name} +(\\S+)`, "m").exec(text)?.[1];
    return value === undefined || value === "unlimited" ? Number.POSITIVE_INFINITY : Number(value);
  };
  return { openFiles: soft("Max open files"), addressSpaceBytes: soft("Max address space") };
}

/** For systems without that table: Node's report has the limit, but takes longer. */
function openFilesReported(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  return Number(userLimits?.open_files?.soft) || Number.POSITIVE_INFINITY;
}
