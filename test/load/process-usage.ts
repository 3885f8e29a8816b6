/** Resource use of a process so far, from the process table (Linux); null where unavailable. */
import { readdirSync, readFileSync } from "node:fs";

/** /proc counts CPU in ticks of USER_HZ, which Linux fixes at 100 for every architecture Node supports. */
const TICK_US = 10_000;
const KIB = 1_024;
export const MIB = 1_048_576;

export interface ProcessUsage {
  /** User and system time of all threads, including ended ones, in microseconds (10 ms steps). */
  cpuUs: number;
  residentBytes: number;
}

export function readUsage(pid: number): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command name may contain spaces and brackets; the fields after it start behind the last bracket, with field 3.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[14 - 3]) + Number(fields[15 - 3]);
    const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"));
    return { cpuUs: ticks * TICK_US, residentBytes: Number(resident?.[1] ?? 0) * KIB };
  } catch {
    return null;
  }
}

/** Limit of open files of the process, or null if unreadable. */
export function readDescriptorLimit(pid: number | "self"): number | null {
  try {
    const found = /^Max open files\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, "latin1"));
    if (found?.[1] === undefined) return null;
    return found[1] === "unlimited" ? Number.POSITIVE_INFINITY : Number(found[1]);
  } catch {
    return null;
  }
}

/** CPU of a process and its children, those that have ended too, in microseconds. Only direct children are counted. */
export function familyCpuUs(pid: number): number {
  let ticks = 0;
  for (const each of readdirSync("/proc")) {
    const fields = statOf(each);
    if (Number(each) === pid) ticks += sum(fields.slice(11, 15));
    else if (Number(fields[1]) === pid) ticks += sum(fields.slice(11, 13));
  }
  return ticks * TICK_US;
}

/** The fields of /proc/PID/stat behind the name of the program; none for a process that has ended. */
function statOf(pid: string): string[] {
  if (!/^\d+$/.test(pid)) return [];
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

const sum = (fields: readonly string[]) => fields.reduce((total, field) => total + Number(field), 0);

/** Resource use of the load generator. */
export function ownUsage(): ProcessUsage {
  return { cpuUs: ownCpuUs(), residentBytes: process.memoryUsage.rss() };
}

/** CPU time of the load generator, in microseconds. */
export function ownCpuUs(): number {
  const usage = process.cpuUsage();
  return usage.user + usage.system;
}
