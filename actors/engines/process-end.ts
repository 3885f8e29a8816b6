/** How the process of an engine ended, in words and as data for the states of the runs it held. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

export interface ProcessEnd {
  cause: string;
  details: Record<string, unknown>;
}

/** What is known of an end besides the exit code and the signal. */
export interface EndEvidence {
  /** The system has killed a process for its memory in the last moments; null where the system does not say. */
  memoryKill: boolean | null;
  /** Why the engine's Node gave up, from its report; null without one. */
  fatalError: string | null;
}

/** A shell gives the end of its program by a signal as an exit code: this much more than the signal's number. */
const SHELL_SIGNAL_BASE = 128;

/** Signals by which a process usually ends itself. */
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

/** The end of a process whose Node gave up; of one that is no child of ours there is no exit code and no signal. */
export function gaveUp(fatalError: string, details: Record<string, unknown> = {}): ProcessEnd {
  const outOfMemory = /out of memory/i.test(fatalError) && { out_of_memory: true };
  return { cause: `engine process gave up: ${fatalError}`, details: { ...details, ...outOfMemory } };
}

function signalOfShell(code: number | null): NodeJS.Signals | null {
  const number = (code ?? 0) - SHELL_SIGNAL_BASE;
  const named = Object.entries(constants.signals).find(([, value]) => value === number);
  return named === undefined ? null : (named[0] as NodeJS.Signals);
}

/** How many processes the system has killed for their memory since it was started; null where it does not count them. */
export function countMemoryKills(): number | null {
  try {
    const line = /^oom_kill (\d+)$/m.exec(readFileSync("/proc/vmstat", "latin1"));
    return line === null ? null : Number(line[1]);
  } catch {
    return null;
  }
}

/** Options of Node by which a process that has to give up, as with a full heap, leaves a report in a folder. */
export function fatalReportOptions(folder: string): string[] {
  return ["--report-on-fatalerror", "--report-exclude-env", "--report-compact", `--report-directory=${folder}`];
}

/** Takes the report of a process out of the folder: what its Node gave up for; null without a report. */
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
    // The report was not written to its end, as on a full disk.
    return null;
  }
}
