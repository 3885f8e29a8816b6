/** CPU starvation: time in which a process was ready to run but other processes had the processors. */
import { readFileSync } from "node:fs";

/**
 * Time that the main thread of a process has waited for a processor so far, in ms; 0 where the system does not report it
 * (Linux does).
 */
export function starvedMs(pid: number | undefined): number {
  try {
    // Nanoseconds on a processor, nanoseconds waiting for one, number of turns: Documentation/scheduler/sched-stats.
    const [, waited = "0"] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
    return Number(waited) / 1e6;
  } catch {
    return 0;
  }
}
