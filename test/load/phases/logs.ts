/** Log lines in large reports, as from a verbose flow: lines per second, and the cost of a line. */
import { setTimeout as sleep } from "node:timers/promises";
import type { HeldRun } from "../engine-host.ts";
import { figure, latencyFigures } from "../figure.ts";
import { LoadFailed } from "../load-failed.ts";
import { chartsOf, costFigures, openWindow } from "../window.ts";
import { DRAIN_LIMIT_MS, failureNotes, type PhaseContext, type PhaseResult } from "./phase.ts";

/** Number of concurrently logging runs. */
const WRITERS_MAX = 8;
/** Lines in one report. Engines send up to 5,000. */
const LINES_PER_REPORT = 1_000;
/** Prepared reports per writer, so that the generator does not spend its time building text. */
const PREPARED = 4;
/** With --runs the phase ends after this many reports of each writer per requested run, and after --seconds at the latest. */
const REPORTS_PER_RUN = 1;

export async function logsPhase(context: PhaseContext): Promise<PhaseResult> {
  const { fleet, options } = context;
  const writers = Math.min(WRITERS_MAX, fleet.size.engines);
  const reportsMax = options.runs === null ? Number.POSITIVE_INFINITY : options.runs * REPORTS_PER_RUN;
  const start = Promise.withResolvers<void>();
  let ready = 0;
  let stopped = false;
  let acknowledged = 0;
  fleet.duty = async (held) => {
    const prepared = prepareLines(held);
    ready += 1;
    await start.promise;
    let seq = 1;
    while (!stopped && seq <= reportsMax) {
      const head = `{"engine_id":"${held.engineId}","run_id":${held.runId},"events":[{"seq":${seq},"kind":"logs","logs":[`;
      const sentAt = performance.now();
      const answer = await held.connection.postBytes("/api/engine/report", head, prepared[seq % PREPARED] ?? Buffer.alloc(0));
      fleet.recorder.report.add(performance.now() - sentAt);
      if (answer.status !== 200) throw new LoadFailed(`report answered ${answer.status}: ${answer.body.slice(0, 200)}`);
      if (!stopped) acknowledged += LINES_PER_REPORT;
      seq += 1;
    }
    return seq;
  };
  try {
    await fleet.create({ runsMax: writers, inFlight: writers });
    const limit = performance.now() + DRAIN_LIMIT_MS;
    while (ready < writers && performance.now() < limit) await sleep(1);
    const close = openWindow(context, () => acknowledged);
    start.resolve();
    await fleet.until(() => fleet.inFlight === 0, options.seconds * 1_000);
    const window = close();
    stopped = true;
    return {
      figures: [
        ...figure("writers", "", writers),
        ...figure("lines per report", "", LINES_PER_REPORT),
        ...costFigures(window, "log line", acknowledged),
        ...latencyFigures("report", window.recorder.report),
      ],
      notes: failureNotes(window.recorder.errors),
      ...chartsOf(window),
    };
  } finally {
    stopped = true;
    start.resolve();
    fleet.duty = null;
    await fleet.until(() => fleet.inFlight === 0, DRAIN_LIMIT_MS);
  }
}

function prepareLines(held: HeldRun): Buffer[] {
  return Array.from({ length: PREPARED }, () => Buffer.from(`${held.reports.lines(held.runId, LINES_PER_REPORT)}]}]}`, "latin1"));
}
