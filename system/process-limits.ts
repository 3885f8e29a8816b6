/** What the operating system lets this process have (`ulimit`). */
import { readFileSync } from "node:fs";

export interface ProcessLimits {
  /** Open files and connections; Infinity where there is no limit or none is told. */
  openFiles: number;
  /** Bytes of addresses, used or not; Infinity as above. */
  addressSpaceBytes: number;
}

export function processLimits(): ProcessLimits {
  try {
    return parseLimits(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return { openFiles: openFilesReported(), addressSpaceBytes: Number.POSITIVE_INFINITY };
  }
}

/** Reads the table that Linux shows: name, soft limit, hard limit. */
export function parseLimits(text: string): ProcessLimits {
  const soft = (name: string): number => {
    const value = new RegExp(`^${name} +(\\S+)`, "m").exec(text)?.[1];
    return value === undefined || value === "unlimited" ? Number.POSITIVE_INFINITY : Number(value);
  };
  return { openFiles: soft("Max open files"), addressSpaceBytes: soft("Max address space") };
}

/** Systems without that table: Node knows, though it takes a while to say. */
function openFilesReported(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  return Number(userLimits?.open_files?.soft) || Number.POSITIVE_INFINITY;
}
