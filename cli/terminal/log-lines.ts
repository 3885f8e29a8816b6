/** Log lines of a run as text. */

import type { Log } from "#protocol/records/log";
import { clockTime, levelLook } from "./format.ts";
import { printable, type Terminal } from "./terminal.ts";

/** Lines of one record: time, level, task if known, message; further lines of a message are indented below the first. */
export function renderLog(log: Log, taskNames: ReadonlyMap<number, string>, terminal: Terminal): string[] {
  const level = levelLook(log.level);
  const [first = "", ...rest] = printable(log.message).trimEnd().split("\n");
  const task = log.task_run_id === null ? undefined : taskNames.get(log.task_run_id);
  const name = task === undefined ? "" : `${terminal.paint("cyan", printable(task))}  `;
  const loud = log.level >= 30;
  const say = (text: string) => (loud ? terminal.paint(level.style, text) : text);
  const time = clockTime(log.timestamp);
  const indent = " ".repeat(time.length + 2 + LEVEL_WIDTH + 2);
  return [
    `${terminal.paint("dim", time)}  ${terminal.paint(level.style, level.name.padEnd(LEVEL_WIDTH))}  ${name}${say(first)}`,
    ...rest.map((line) => indent + say(line)),
  ];
}

const LEVEL_WIDTH = "CRITICAL".length;
