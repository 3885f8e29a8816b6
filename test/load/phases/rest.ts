/** An idle server with thousands of waiting engines: its memory, its CPU time, and how soon a run is handed out. */
import { setTimeout as sleep } from "node:timers/promises";
import { figure } from "../figure.ts";
import { ParkedEngines, parkObstacle } from "../parked-engines.ts";
import { MIB } from "../process-usage.ts";
import { openWindow } from "../window.ts";
import { idlePhase } from "./idle.ts";
import type { PhaseContext, PhaseResult } from "./phase.ts";

const US_PER_S = 1_000_000;
const S_PER_MINUTE = 60;

export async function restPhase(context: PhaseContext): Promise<PhaseResult> {
  const { options } = context;
  const obstacle = parkObstacle(context);
  if (obstacle !== null) return { figures: [], notes: [obstacle] };
  const parked = new ParkedEngines(context, options.park);
  try {
    await parked.open();
    const close = openWindow(context);
    await sleep(options.seconds * 1_000);
    const { serverCpuUs, seconds, residentBytes } = close();
    const perMinute = serverCpuUs === null ? null : ((serverCpuUs / US_PER_S) * S_PER_MINUTE) / seconds;
    const one = await idlePhase(context);
    return {
      figures: [
        ...figure("parked polls", "", options.park),
        ...figure("server memory", "MiB", residentBytes === null ? null : residentBytes / MIB),
        ...figure("server CPU at rest", "s/min", perMinute),
        ...one.figures,
        ...figure("polls lost", "", parked.lost),
      ],
      notes: [...parked.notes(), ...one.notes],
    };
  } finally {
    parked.close();
  }
}
