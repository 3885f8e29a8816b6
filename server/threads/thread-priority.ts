/** The priority of one thread, apart from the priority of its process. */
import { readlinkSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { basename } from "node:path";

/**
 * Adds to the nice value of the calling thread. Only Linux has a nice value for each thread; elsewhere, and where the system
 * refuses the change, the priority stays as it is.
 */
export function lowerThreadPriority(nice: number): void {
  if (process.platform !== "linux") return;
  try {
    const id = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(id, Math.min(constants.priority.PRIORITY_LOW, getPriority(id) + nice));
  } catch {
    // Without /proc the thread has no id, and a sandbox may forbid the call. Either costs some throughput and nothing else.
  }
}
