/** The first run of a fleet. */
import type { Fleet } from "./fleet.ts";
import { LoadFailed } from "./load-failed.ts";
import { DRAIN_LIMIT_MS } from "./phases/phase.ts";
import { checkStoredRuns } from "./stored-run.ts";

/** Connects the engines, registers the flow by a first run, and checks that this run was stored completely. */
export async function prepareFleet(fleet: Fleet, target: string): Promise<void> {
  await fleet.start();
  await fleet.createOne(true);
  if (!(await fleet.until(() => fleet.inFlight === 0, DRAIN_LIMIT_MS)) || fleet.recorder.failed > 0) {
    throw new LoadFailed(`${target}: the first run was not finished: ${fleet.recorder.errors.join("; ")}`);
  }
  await checkStoredRuns(fleet);
}
