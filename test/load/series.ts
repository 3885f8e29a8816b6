/** A series of runs: its time runs from the first creation to the last end, and nothing is queued before. */
import { type Figure, figure } from "./figure.ts";
import { LoadFailed } from "./load-failed.ts";
import { failureNotes, type PhaseResult } from "./phases/phase.ts";
import { checkStoredRuns } from "./stored-run.ts";
import { chartsOf, costFigures, openWindow, requestFigures, type WindowContext } from "./window.ts";

/** A series that takes longer has come to a stop. */
const SERIES_LIMIT_MS = 600_000;

export async function runSeries(context: WindowContext, runs: number): Promise<PhaseResult> {
  const { fleet } = context;
  const requestsBefore = fleet.engineRequests;
  const close = openWindow(context);
  const creating = fleet.create({ runsMax: runs, inFlight: fleet.size.inFlight });
  const measured = fleet.recorder;
  const isOver = await fleet.until(() => measured.completed + measured.failed >= runs, SERIES_LIMIT_MS);
  const window = close();
  const requests = fleet.engineRequests - requestsBefore;
  fleet.stopCreating();
  await creating;
  if (!isOver) throw new LoadFailed(`${fleet.inFlight} runs were created and never finished`);
  await checkStoredRuns(fleet);
  const { recorder } = window;
  const figures: Figure[] = [
    ...costFigures(window, "run", recorder.completed),
    ...figure("engine requests per run", "", requests / recorder.completed),
    ...requestFigures(recorder),
  ];
  return { figures, notes: failureNotes(recorder.errors), ...chartsOf(window) };
}
