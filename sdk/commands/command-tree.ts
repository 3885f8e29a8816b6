/** Ends the processes of commands: the process group of each, and the processes below that have left it. */
import { setTimeout as pause } from "node:timers/promises";
import {
  CHILD_GRACE_MS,
  groupTree,
  listProcesses,
  namesOf,
  type SystemProcess,
  signalAll,
  signalGroup,
} from "#system/run-processes";
import type { ActiveRun } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";

/** How often the remaining processes are listed. */
const LOOK_MS = 50;

/** How long to wait for killed processes: the system may need time for them. */
const KILLED_MS = 1_000;

const WARNING = 30;

/** Whether a process of the group is left; one that has ended and was not waited for counts. */
export function isGroupLeft(group: number): boolean {
  return signalGroup(group, 0);
}

/** SIGTERM to all processes of a command, after the grace SIGKILL to those that are left. Resolves when none is left. */
export async function endTree(group: number): Promise<void> {
  const seen = new Map<number, SystemProcess>();
  if (await signalTree(group, seen, "SIGTERM")) return;
  const asked = performance.now();
  while (performance.now() - asked < CHILD_GRACE_MS) {
    await pause(LOOK_MS);
    if ((await lookAt(group, seen)).length === 0) return;
  }
  const killed = performance.now();
  while (!(await signalTree(group, seen, "SIGKILL")) && performance.now() - killed < KILLED_MS) await pause(LOOK_MS);
}

/** The code of the run has returned: what its commands left in their process groups ends with the run, like other children. */
export async function endCommands(run: ActiveRun): Promise<void> {
  const groups = [...run.commands].filter(isGroupLeft);
  run.commands.clear();
  if (groups.length === 0) return;
  const all = await listProcesses();
  const left = groups.flatMap((group) => groupTree(group, all).filter((one) => one.group === group));
  if (left.length > 0) {
    const advice = "one that is to stay is started with setsid";
    const text = `processes of commands that had not ended are ended with the run: ${namesOf(left)}; ${advice}`;
    writeLog(run, null, WARNING, "millrace.run", text);
  }
  await Promise.all(groups.map(endTree));
}

/** Signals the processes that are left; true if none is. */
async function signalTree(group: number, seen: Map<number, SystemProcess>, signal: "SIGTERM" | "SIGKILL"): Promise<boolean> {
  const left = await lookAt(group, seen);
  if (left.length === 0) return true;
  signalGroup(group, signal);
  signalAll(
    left.filter((one) => one.group !== group),
    signal,
  );
  return false;
}

/** The processes that are left, also those that have lost their parent since they were seen. */
async function lookAt(group: number, seen: Map<number, SystemProcess>): Promise<SystemProcess[]> {
  const all = await listProcesses();
  for (const one of groupTree(group, all)) seen.set(one.pid, one);
  return all.filter(({ pid, command, run }) => {
    const known = seen.get(pid);
    // The mark distinguishes a process from a later one of its pid.
    return known !== undefined && known.run === run && (known.command === command || run !== null);
  });
}
