/** The tasks of a run as a table: similar task runs share a row, failed ones have their own. */

import type { Run, TaskRun } from "#sdk/client/index";
import { duration, stateLook, stateText } from "../terminal/format.ts";
import { tracebackLines, tracebackOf } from "../terminal/outcome-lines.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";

/** More task runs than this of one task in one state share a row. */
const ALIKE_MAX = 5;
/** This many failed task runs of a task have rows of their own all the same. */
const FAILED_ROWS_MAX = 10;
/** Number of tracebacks shown below the table. */
const TRACEBACKS_MAX = 3;

/** Rows in the order in which the first task run of each was created. */
export function renderTasks(tasks: readonly TaskRun[], terminal: Terminal): string[] {
  const retried = tasks.some((task) => attemptsOf(task) > 1);
  return renderTable(
    [
      { head: "TASK", cell: (row) => nameOf(row), shrink: true },
      { head: "STATE", cell: ([{ state }]) => stateText(state), style: ([{ state }]) => stateLook(state).style },
      ...(retried ? [{ head: "ATTEMPTS", cell: (row: TaskRow) => attemptsText(row), align: "right" as const }] : []),
      { head: "DURATION", cell: durationText, align: "right" },
      { head: "MESSAGE", cell: (row) => sharedBy(row, ({ state }) => printable(state.message ?? "")) ?? "", shrink: true },
    ],
    foldAlike(tasks),
    terminal,
  );
}

/** Tracebacks of failed task runs, without the run's own traceback, which is shown above. */
export function renderTaskFailures(run: Run, tasks: readonly TaskRun[], terminal: Terminal): string[] {
  const shown = new Set([tracebackOf(run.state), null]);
  const lines: string[] = [];
  for (const { state, dynamic_key } of tasks) {
    const traceback = tracebackOf(state);
    if (shown.has(traceback) || shown.size > TRACEBACKS_MAX + 1) continue;
    shown.add(traceback);
    const name = terminal.paint("bold", printable(dynamic_key));
    lines.push("", `${name}  ${printable(state.message ?? "")}`, ...tracebackLines(state, terminal));
  }
  return lines;
}

/** Number of attempts of a run or task run: each failure ends an attempt, and so does any other end. */
export function attemptsOf({ state, failure_count, start_time }: Pick<Run, "state" | "failure_count" | "start_time">): number {
  if (start_time === null) return 0;
  return failure_count + (state.type === "Failed" || state.name === "AwaitingRetry" ? 0 : 1);
}

/** Task runs of one task in one state. */
type TaskRow = [TaskRun, ...TaskRun[]];

function foldAlike(tasks: readonly TaskRun[]): TaskRow[] {
  const rows: TaskRow[] = [];
  const alike = new Map<string, TaskRun[]>();
  for (const task of tasks) {
    const key = JSON.stringify([task.name, task.state.name]);
    const group = alike.get(key) ?? [];
    group.push(task);
    alike.set(key, group);
  }
  for (const group of alike.values()) {
    const failed = group[0]?.state.type === "Failed" || group[0]?.state.type === "Crashed";
    const single = group.length <= ALIKE_MAX ? group.length : failed ? FAILED_ROWS_MAX : 0;
    rows.push(...group.slice(0, single).map((task): TaskRow => [task]));
    const [first, ...others] = group.slice(single);
    if (first !== undefined) rows.push([first, ...others]);
  }
  return rows.sort(([a], [b]) => a.id - b.id);
}

function nameOf([first, ...others]: TaskRow): string {
  return printable(
    others.length === 0 ? first.dynamic_key : `${first.name} \u00d7 ${(others.length + 1).toLocaleString("en-US")}`,
  );
}

function attemptsText(row: TaskRow): string {
  const most = Math.max(...row.map(attemptsOf));
  if (most === 0) return "";
  return sharedBy(row, attemptsOf) === undefined ? `up to ${most}` : String(most);
}

function durationText(row: TaskRow): string {
  const longest = Math.max(...row.map((task) => task.total_run_time ?? -1));
  if (longest < 0) return "";
  return row.length === 1 ? duration(longest) : `up to ${duration(longest)}`;
}

/** The value shared by all task runs of a row; undefined if it differs. */
function sharedBy<Value>([first, ...others]: TaskRow, read: (task: TaskRun) => Value): Value | undefined {
  const value = read(first);
  return others.every((task) => read(task) === value) ? value : undefined;
}
