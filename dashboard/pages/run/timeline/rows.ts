/** The rows of the timeline: what went wrong one by one and first, tasks of one name that did alike in one row. */
import type { TaskRun } from "#protocol/task-run";
import { lookOf } from "../../../state/look.ts";
import { wentWrong } from "../task-groups.ts";

export interface Bar {
  fromUs: number;
  /** Null: it goes on. */
  toUs: number | null;
  token: string;
}

export interface TimelineRow {
  key: string;
  name: string;
  token: string;
  word: string;
  strong: boolean;
  bars: readonly Bar[];
  /** Sum of the bars that have ended, microseconds. */
  busyUs: number;
  /** Tasks that the row stands for. */
  tasks: number;
}

/** Tasks of one name and state above this number share a row. */
const ALIKE_MAX = 3;

function barOf(task: TaskRun): Bar | null {
  if (task.start_time === null || task.start_time === undefined) return null;
  return { fromUs: task.start_time, toUs: task.end_time ?? null, token: lookOf(task.state).token };
}

function rowOf(task: TaskRun): TimelineRow {
  const { token, word, loudness } = lookOf(task.state);
  const bar = barOf(task);
  return {
    ...{ key: String(task.id), name: task.dynamic_key || task.name, token, word, strong: loudness === "loud" },
    ...{ bars: bar === null ? [] : [bar], busyUs: task.total_run_time ?? 0, tasks: 1 },
  };
}

/** One row for several: the time in which any of them worked. */
function folded(name: string, tasks: readonly TaskRun[]): TimelineRow {
  const first = tasks[0] as TaskRun;
  const { token, word } = lookOf(first.state);
  const bars = tasks
    .map(barOf)
    .filter((bar) => bar !== null)
    .sort((a, b) => a.fromUs - b.fromUs);
  const merged: Bar[] = [];
  for (const bar of bars) {
    const last = merged.at(-1);
    if (last === undefined || (last.toUs !== null && bar.fromUs > last.toUs)) merged.push({ ...bar });
    else last.toUs = last.toUs === null || bar.toUs === null ? null : Math.max(last.toUs, bar.toUs);
  }
  return {
    ...{ key: `${name} ${first.state.name}`, name: `${name}, ${tasks.length} alike`, token, word, strong: false, bars: merged },
    ...{ busyUs: tasks.reduce((sum, { total_run_time }) => sum + (total_run_time ?? 0), 0), tasks: tasks.length },
  };
}

export function timelineRows(tasks: readonly TaskRun[], failedOnly: boolean): TimelineRow[] {
  const wrong = tasks.filter(wentWrong);
  const rows = wrong.map(rowOf);
  if (failedOnly) return rows;
  const alike = new Map<string, TaskRun[]>();
  for (const task of tasks) {
    if (wentWrong(task)) continue;
    const key = `${task.name} ${task.state.name}`;
    alike.set(key, [...(alike.get(key) ?? []), task]);
  }
  for (const group of alike.values()) {
    if (group.length > ALIKE_MAX) rows.push(folded(group[0]?.name ?? "", group));
    else rows.push(...group.map(rowOf));
  }
  const start = ({ bars }: TimelineRow) => bars[0]?.fromUs ?? Number.MAX_SAFE_INTEGER;
  return [...rows.slice(0, wrong.length), ...rows.slice(wrong.length).sort((a, b) => start(a) - start(b))];
}
