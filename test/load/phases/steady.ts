/** Full runs with all engines and creators at work: rate, cost per run, and the latency of each request. */
import { setTimeout as sleep } from "node:timers/promises";
import { LoadFailed } from "../load-failed.ts";
import { checkStoredRuns } from "../stored-run.ts";
import { chartsOf, costFigures, openWindow, requestFigures, type Window } from "../window.ts";
import { DRAIN_LIMIT_MS, failureNotes, type PhaseContext, type PhaseResult } from "./phase.ts";

/** Code and caches settle before the window opens. */
const WARM_UP_MS_MAX = 2_000;
const WARM_UP_SHARE = 0.25;
const WARM_UP_RUNS_MAX = 200;
const WARM_UP_RUNS_SHARE = 0.1;
/** With --runs the window ends by count; this limits it when the server stops finishing runs. */
const COUNTED_LIMIT_MS = 600_000;

export async function steadyPhase(context: PhaseContext): Promise<PhaseResult> {
  const window = await steadyWindow(context, context.options.seconds);
  const { recorder } = window;
  await checkStoredRuns(context.fleet);
  return {
    figures: [...costFigures(window, "run", recorder.completed), ...requestFigures(recorder)],
    notes: failureNotes(recorder.errors),
    ...chartsOf(window),
  };
}

/** One warmed-up window of whole runs, drained at the end. */
export async function steadyWindow(context: PhaseContext, seconds: number): Promise<Window> {
  const { fleet, options } = context;
  const counted = options.runs;
  const warmUpRuns = counted === null ? 0 : Math.min(WARM_UP_RUNS_MAX, Math.floor(counted * WARM_UP_RUNS_SHARE));
  const runsMax = counted === null ? Number.POSITIVE_INFINITY : counted + warmUpRuns;
  const creating = fleet.create({ runsMax, inFlight: fleet.size.inFlight });
  let window: Window;
  if (counted === null) {
    await sleep(Math.min(WARM_UP_MS_MAX, seconds * 1_000 * WARM_UP_SHARE));
    const close = openWindow(context);
    // Ends early only on a failure, which `until` throws.
    await fleet.until(() => false, seconds * 1_000);
    window = close();
  } else {
    await fleet.until(() => fleet.recorder.completed >= warmUpRuns, COUNTED_LIMIT_MS);
    const close = openWindow(context);
    const measured = fleet.recorder;
    await fleet.until(() => measured.completed >= counted, COUNTED_LIMIT_MS);
    window = close();
  }
  fleet.stopCreating();
  await creating;
  if (!(await fleet.until(() => fleet.inFlight === 0, DRAIN_LIMIT_MS))) {
    throw new LoadFailed(`${fleet.inFlight} runs were created and never finished`);
  }
  return window;
}
