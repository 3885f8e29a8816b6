/** One run at a time on an idle server: the time until an engine has the work, and until a move is acknowledged. */
import { figure, latencyFigures } from "../figure.ts";
import { LoadFailed } from "../load-failed.ts";
import { chartsOf, openWindow } from "../window.ts";
import { DRAIN_LIMIT_MS, failureNotes, type PhaseContext, type PhaseResult } from "./phase.ts";

const WARM_UP_RUNS = 20;
/** Enough that the 99th percentile rests on more than a few values. */
const RUNS_MAX = 2_000;

export async function idlePhase(context: PhaseContext): Promise<PhaseResult> {
  const { fleet, options } = context;
  const one = async () => {
    await fleet.createOne();
    if (!(await fleet.until(() => fleet.inFlight === 0, DRAIN_LIMIT_MS))) throw new LoadFailed("a run never finished");
  };
  const runsMax = Math.min(RUNS_MAX, options.runs ?? RUNS_MAX);
  for (let run = 0; run < Math.min(WARM_UP_RUNS, runsMax); run++) await one();
  const close = openWindow(context);
  const endAt = performance.now() + options.seconds * 1_000;
  for (let run = 0; run < runsMax && performance.now() < endAt; run++) await one();
  const window = close();
  const { recorder, serverCpuUs, generatorCpuUs } = window;
  return {
    figures: [
      ...latencyFigures("dispatch", recorder.dispatch),
      ...latencyFigures("create", recorder.create),
      ...latencyFigures("transition", recorder.transition),
      ...latencyFigures("report", recorder.report),
      ...latencyFigures("whole run", recorder.whole),
      ...figure("server CPU per run", "us", serverCpuUs === null ? null : serverCpuUs / recorder.completed),
      ...figure("generator CPU per run", "us", generatorCpuUs / recorder.completed),
      ...figure("runs", "", recorder.completed),
    ],
    notes: failureNotes(recorder.errors),
    ...chartsOf(window),
  };
}
