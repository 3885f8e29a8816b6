/** Log lines of runs collected in a step: those of engines' reports, and the server's own warnings about a report. */
import { levelBit } from "#storage/write/batch";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

/** Task run, level, logger, time, message. */
export type LogLine = [number | null, number, string, number, string];

/** The lines of one report by run, with a mask of their levels. */
export type LogsByRun = Map<Run, { lines: LogLine[]; levels: number }>;

const WARNING = 30;
const OUR_LOGGER = "millrace.run";

export function addLine(logs: LogsByRun, run: Run, line: LogLine): void {
  let entry = logs.get(run);
  if (entry === undefined) {
    entry = { lines: [], levels: 0 };
    logs.set(run, entry);
  }
  entry.lines.push(line);
  entry.levels |= levelBit(line[1]);
}

/** Adds a warning by the server. */
export function addWarning(turn: Turn, run: Run, logs: LogsByRun, message: string): void {
  addLine(logs, run, [null, WARNING, OUR_LOGGER, turn.nowUs, message]);
}

export function appendLogs(turn: Turn, logs: LogsByRun): void {
  for (const [run, { lines, levels }] of logs) {
    turn.decision.logs.push(run.id, run.attempt, lines.length, levels, JSON.stringify(lines));
    turn.stream.add("log.appended", 0);
  }
}
