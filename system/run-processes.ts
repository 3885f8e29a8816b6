/**
 * The processes that a run has started. Each carries the run's mark in its environment and passes the mark on to the processes
 * that it starts, which therefore keep it when they leave their session or lose their parent.
 */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";

/** Environment variable of the processes of a run: its external id. */
export const RUN_MARK = "MILLRACE_RUN";

/** Time between SIGTERM and SIGKILL. */
export const CHILD_GRACE_MS = 3_000;

/** The columns of /proc/<pid>/stat behind the command name, see proc(5). */
const PARENT_FIELD = 1;
const GROUP_FIELD = 2;

/** Maximum output of ps: the environments of all processes of a user. */
const PS_BYTES_MAX = 64 * 1024 * 1024;

export interface SystemProcess {
  pid: number;
  parent: number;
  /** The process group. */
  group: number;
  command: string;
  /** External id of the run whose mark the process carries; null without a mark, or if the environment is not readable. */
  run: string | null;
}

/** Every process that has not ended, with the marks of those that belong to this user. */
export async function listProcesses(): Promise<SystemProcess[]> {
  return process.platform === "linux" ? listFromProc() : await listFromPs();
}

/** The processes of a run: those with its mark and their descendants, without this process. */
export function processesOf(run: string, all: readonly SystemProcess[]): SystemProcess[] {
  return withDescendants(
    all.filter((one) => one.run === run && one.pid !== process.pid),
    all,
  );
}

/** The descendants of the process `pid` that belong to no marked process, so that their run is unknown. */
export function unmarkedBelow(pid: number, all: readonly SystemProcess[]): SystemProcess[] {
  const marked = all.filter((one) => one.run !== null && one.pid !== pid);
  const known = new Set(withDescendants(marked, all));
  return withDescendants(
    all.filter(({ parent }) => parent === pid),
    all,
  ).filter((one) => !known.has(one));
}

/** The processes of a process group and their descendants, without this process. */
export function groupTree(group: number, all: readonly SystemProcess[]): SystemProcess[] {
  return withDescendants(
    all.filter((one) => one.group === group && one.pid !== process.pid),
    all,
  );
}

/** For messages: `sleep (1234), node (1240)`. */
export function namesOf(processes: readonly SystemProcess[]): string {
  return processes.map(({ command, pid }) => `${command} (${pid})`).join(", ");
}

/** Signals each process; skips processes that have ended or belong to another user. */
export function signalAll(processes: readonly SystemProcess[], signal: "SIGTERM" | "SIGKILL"): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // The caller checks which processes are left.
    }
  }
}

/** Signals a whole process group, so that none of its processes starts another one in between; false without such a group. */
export function signalGroup(group: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

function withDescendants(roots: readonly SystemProcess[], all: readonly SystemProcess[]): SystemProcess[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const found = new Set(roots);
  // Iterating over a Set also visits elements that are added during the loop.
  for (const { pid } of found) {
    for (const child of children.get(pid) ?? []) if (child.pid !== process.pid) found.add(child);
  }
  return [...found];
}

function listFromProc(): SystemProcess[] {
  const found: SystemProcess[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readText(`/proc/${name}/stat`);
    if (stat === null) continue;
    // The command name is in parentheses and may hold anything.
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") continue;
    const command = stat.slice(stat.indexOf("(") + 1, end);
    const environment = readText(`/proc/${name}/environ`) ?? "";
    const run = new RegExp(`(?:^|\0)${RUN_MARK}=([^\0]*)`).exec(environment)?.[1] ?? null;
    found.push({ pid, parent: Number(fields[PARENT_FIELD]), group: Number(fields[GROUP_FIELD]), command, run });
  }
  return found;
}

/** Null for a process that has ended or belongs to another user. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** With these options `ps` prints the environment after the command; the options differ by system. */
export async function listFromPs(): Promise<SystemProcess[]> {
  const columns = "pid=,ppid=,pgid=,stat=,command=";
  const options = process.platform === "darwin" ? ["-A", "-E", "-ww", "-o", columns] : ["axeww", "-o", columns];
  const running = promisify(execFile)("ps", options, { maxBuffer: PS_BYTES_MAX });
  const ownPid = running.child.pid;
  const { stdout } = await running;
  const found: SystemProcess[] = [];
  for (const line of stdout.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)(.*)$/.exec(line);
    if (match === null || match[4]?.startsWith("Z") || Number(match[1]) === ownPid) continue;
    const run = new RegExp(`\\s${RUN_MARK}=(\\S*)`).exec(match[6] ?? "")?.[1] ?? null;
    const command = (match[5] ?? "").slice((match[5] ?? "").lastIndexOf("/") + 1);
    found.push({ pid: Number(match[1]), parent: Number(match[2]), group: Number(match[3]), command, run });
  }
  return found;
}
