/**
 * The rows of the timeline. Failed tasks come first, one per row; similar tasks of one name share a row. All attempts of a task
 * are in one row: those within the task run, and those of the run, where the n-th call of a name is the same task.
 */
import type { TaskRun } from "#protocol/records/task-run";
import { lookOf } from "../../../state/look.ts";
import { wentWrong } from "../task-groups.ts";

export interface TimelineBar {
  fromUs: number;
  /** Null while it is running. */
  toUs: number | null;
  token: string;
  /** Another attempt followed. */
  earlier: boolean;
}

export interface TimelineRow {
  key: string;
  name: string;
  /** The name of its tasks, for a link to them. */
  taskName: string;
  token: string;
  word: string;
  strong: boolean;
  bars: readonly TimelineBar[];
  /** Sum of the bars that have ended, microseconds. */
  busyUs: number;
  /** Number of tasks in the row. */
  tasks: number;
}

/** Tasks of one name and state above this number share a row. */
const ALIKE_MAX = 3;

/** The task runs that count as one task, the latest last. */
type Calls = readonly TaskRun[];

function isTimes(value: unknown): value is [number, number | null] {
  return Array.isArray(value) && typeof value[0] === "number" && (typeof value[1] === "number" || value[1] === null);
}

/** One bar per attempt within the task run, if its engine reports attempts. */
function barsOf(task: TaskRun, earlier: boolean): TimelineBar[] {
  if (task.start_time === null || task.start_time === undefined) return [];
  const { token } = lookOf(task.state);
  const end = task.end_time ?? null;
  const told = task.state.details?.["attempts"];
  const times = Array.isArray(told) ? told.filter(isTimes) : [];
  if (times.length === 0) return [{ fromUs: task.start_time, toUs: end, token, earlier }];
  const failed = wentWrong(task) ? token : "failed";
  return times.map(([fromUs, toUs], index) => {
    const last = index === times.length - 1;
    return { fromUs, toUs: toUs ?? end, token: last && toUs === null ? token : failed, earlier: earlier || !last };
  });
}

function rowOf(calls: Calls): TimelineRow {
  const latest = calls.at(-1) as TaskRun;
  const { token, word, loudness } = lookOf(latest.state);
  const bars = calls.flatMap((task, index) => barsOf(task, index < calls.length - 1));
  return {
    ...{ key: String(latest.id), name: latest.dynamic_key || latest.name, taskName: latest.name, token, word },
    ...{ strong: loudness === "loud", bars, busyUs: busy(bars), tasks: calls.length },
  };
}

function busy(bars: readonly TimelineBar[]): number {
  return bars.reduce((sum, { fromUs, toUs }) => sum + (toUs === null ? 0 : toUs - fromUs), 0);
}

/** One row for several tasks: the time in which any of them worked. */
function folded(name: string, alike: readonly Calls[]): TimelineRow {
  const latest = alike[0]?.at(-1) as TaskRun;
  const { token, word } = lookOf(latest.state);
  const all = alike.flatMap((calls) => calls.flatMap((task) => barsOf(task, false)));
  const merged: TimelineBar[] = [];
  for (const bar of all.sort((a, b) => a.fromUs - b.fromUs)) {
    const last = merged.at(-1);
    if (last === undefined || (last.toUs !== null && bar.fromUs > last.toUs)) merged.push({ ...bar, token });
    else last.toUs = last.toUs === null || bar.toUs === null ? null : Math.max(last.toUs, bar.toUs);
  }
  return {
    ...{ key: `${name} ${word}`, name: `${name}, ${alike.length} alike`, taskName: name, token, word, strong: false },
    ...{ bars: merged, busyUs: busy(merged), tasks: alike.length },
  };
}

/** Task runs grouped by task, one per attempt. `starts` has the start of each attempt of the run. */
function callsOf(tasks: readonly TaskRun[], starts: readonly number[]): Calls[] {
  if (starts.length < 2) return tasks.map((task) => [task]);
  const calls = new Map<string, TaskRun[]>();
  const counts = new Map<string, number>();
  for (const task of tasks) {
    const at = task.start_time ?? task.created_at;
    const attempt = starts.findLastIndex((start) => start <= at);
    const counter = `${attempt} ${task.name}`;
    const place = (counts.get(counter) ?? 0) + 1;
    counts.set(counter, place);
    const key = `${place} ${task.name}`;
    const known = calls.get(key);
    if (known === undefined) calls.set(key, [task]);
    else known.push(task);
  }
  return [...calls.values()];
}

export interface RowOptions {
  failedOnly: boolean;
  /** When each attempt of the run began. */
  starts: readonly number[];
}

export function timelineRows(tasks: readonly TaskRun[], { failedOnly, starts }: RowOptions): TimelineRow[] {
  const all = callsOf(tasks, starts);
  const latestWrong = (calls: Calls) => wentWrong(calls.at(-1) as TaskRun);
  const wrong = all.filter(latestWrong).map(rowOf);
  if (failedOnly) return wrong;
  const alike = new Map<string, Calls[]>();
  for (const calls of all) {
    if (latestWrong(calls)) continue;
    const latest = calls.at(-1) as TaskRun;
    const key = `${latest.state.name} ${latest.name}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, [calls]);
    else known.push(calls);
  }
  const rest: TimelineRow[] = [];
  for (const group of alike.values()) {
    if (group.length > ALIKE_MAX) rest.push(folded(group[0]?.[0]?.name ?? "", group));
    else rest.push(...group.map(rowOf));
  }
  const start = ({ bars }: TimelineRow) => bars[0]?.fromUs ?? Number.MAX_SAFE_INTEGER;
  return [...wrong, ...rest.sort((a, b) => start(a) - start(b))];
}
