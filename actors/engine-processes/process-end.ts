/** How an engine's process ended, in words and as data for the states of its runs. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

export interface ProcessEnd {
  cause: string;
  details: Record<string, unknown>;
}

/** Evidence besides the exit code and the signal. */
export interface EndEvidence {
  /** True when the system has recently killed a process for memory; null where the system does not report that. */
  memoryKill: boolean | null;
  /** Why the engine's Node aborted, from its report; null without a report. */
  fatalError: string | null;
}

/** A shell reports that its program was ended by a signal as an exit code of this value plus the signal's number. */
const SHELL_SIGNAL_BASE = 128;

/** Signals that usually result from a fault of the process itself. */
const OWN_FAULTS: Partial<Record<NodeJS.Signals, string>> = {
  SIGABRT: "it gave up after an error that it could not go on from",
  SIGSEGV: "native code failed",
  SIGBUS: "native code failed",
  SIGILL: "native code failed",
  SIGTRAP: "native code failed",
};

export function processEnd(
  code: number | null,
  sent: NodeJS.Signals | null,
  { memoryKill, fatalError }: EndEvidence,
): ProcessEnd {
  const signal = sent ?? signalOfShell(code);
  const details = { ...(sent === null && { exit_code: code }), ...(signal !== null && { signal }) };
  if (fatalError !== null) return gaveUp(fatalError, details);
  if (signal === null) return { cause: `engine process exited with code ${code}`, details };
  if (signal !== "SIGKILL") {
    const why = OWN_FAULTS[signal];
    return { cause: `engine process was ended by ${signal}${why === undefined ? "" : `: ${why}`}`, details };
  }
  if (memoryKill === true) {
    return { cause: "engine process was killed by the system: out of memory", details: { ...details, out_of_memory: true } };
  }
  const perhaps = memoryKill === null ? "; the system does so when memory runs out" : "";
  return { cause: `engine process was killed from outside (SIGKILL)${perhaps}`, details };
}

/** The end of a process whose Node aborted. A process that is no child of this server has neither exit code nor signal. */
export function gaveUp(fatalError: string, details: Record<string, unknown> = {}): ProcessEnd {
  const outOfMemory = /out of memory/i.test(fatalError) && { out_of_memory: true };
  return { cause: `engine process gave up: ${fatalError}`, details: { ...details, ...outOfMemory } };
}

function signalOfShell(code: number | null): NodeJS.Signals | null {
  const number = (code ?? 0) - SHELL_SIGNAL_BASE;
  const named = Object.entries(constants.signals).find(([, value]) => value === number);
  return named === undefined ? null : (named[0] as NodeJS.Signals);
}

/** Number of processes that the system has killed for memory since boot; null where the system does not count them. */
export function countMemoryKills(): number | null {
  try {
    const line = /^oom_kill (\d+)$/m.exec(readFileSync("/proc/vmstat", "utf8"));
    return line === null ? null : Number(line[1]);
  } catch {
    return null;
  }
}

/** Node options that make a process write a report into a folder before it aborts, as with a full heap. */
export function fatalReportOptions(folder: string): string[] {
  return ["--report-on-fatalerror", "--report-exclude-env", "--report-compact", `--report-directory=${folder}`];
}

/** Removes a process's report from the folder and returns the reason for the abort; null without a report. */
export function takeFatalError(folder: string, pid: number): string | null {
  try {
    // report.<date>.<time>.<pid>.<thread>.<count>.json
    const name = readdirSync(folder).find((file) => file.startsWith("report.") && file.split(".")[3] === String(pid));
    if (name === undefined) return null;
    const path = join(folder, name);
    const text = readFileSync(path, "utf8");
    rmSync(path);
    return (JSON.parse(text) as { header: { event: string } }).header.event;
  } catch {
    // The report is incomplete, as on a full disk.
    return null;
  }
}
