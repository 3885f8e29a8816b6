/** Thousands of waiting engines of another module while runs continue: memory of the server, and the remaining rate. */
import { figure } from "../figure.ts";
import { ParkedEngines, parkObstacle } from "../parked-engines.ts";
import { MIB, readUsage } from "../process-usage.ts";
import { failureNotes, type PhaseContext, type PhaseResult } from "./phase.ts";
import { steadyWindow } from "./steady.ts";

const KIB = 1_024;

export async function parkPhase(context: PhaseContext): Promise<PhaseResult> {
  const { target, options } = context;
  const obstacle = parkObstacle(context);
  if (obstacle !== null) return { figures: [], notes: [obstacle] };
  const alone = await steadyWindow(context, options.seconds);
  const before = residentBytes(target.pid);
  const parked = new ParkedEngines(context, options.park);
  try {
    await parked.open();
    const after = residentBytes(target.pid);
    const crowded = await steadyWindow(context, options.seconds);
    const grown = before === null || after === null ? null : after - before;
    const aloneRate = alone.recorder.completed / alone.seconds;
    const crowdedRate = crowded.recorder.completed / crowded.seconds;
    return {
      figures: [
        ...figure("parked polls", "", options.park),
        ...figure("memory added", "MiB", grown === null ? null : grown / MIB),
        ...figure("memory per poll", "KiB", grown === null ? null : grown / KIB / options.park),
        ...figure("runs, none parked", "runs/s", aloneRate),
        ...figure("runs, all parked", "runs/s", crowdedRate),
        ...figure("rate kept", "ratio", crowdedRate / aloneRate),
        ...figure("polls lost", "", parked.lost),
      ],
      notes: [...parked.notes(), ...failureNotes([...alone.recorder.errors, ...crowded.recorder.errors])],
    };
  } finally {
    parked.close();
  }
}

function residentBytes(pid: number | null): number | null {
  return pid === null ? null : (readUsage(pid)?.residentBytes ?? null);
}
