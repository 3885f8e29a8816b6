/** Ends the processes that an engine left behind: SIGTERM, then SIGKILL after a grace. */
import { setTimeout as sleep } from "node:timers/promises";
import { CHILD_GRACE_MS, listProcesses, type SystemProcess, signalAll } from "#system/run-processes";

/** Ends all processes of an engine's process group, whatever started them. */
export async function endGroup(group: number): Promise<void> {
  await end((all) => all.filter((one) => one.group === group));
}

export async function end(choose: (all: readonly SystemProcess[]) => SystemProcess[]): Promise<void> {
  const found = choose(await listProcesses());
  if (found.length === 0) return;
  signalAll(found, "SIGTERM");
  await sleep(CHILD_GRACE_MS, undefined, { ref: false });
  signalAll(choose(await listProcesses()), "SIGKILL");
}
