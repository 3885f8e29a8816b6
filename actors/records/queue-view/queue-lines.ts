/**
 * The lines in which runs wait: for engines of one key, for a resource, for their time, for a decision. A hundred thousand
 * runs may wait and people look often, so everything here takes one pass over the runs and sorts only the listed ones.
 */

import type { LiveState } from "../../core/state/live-state.ts";
import { PriorityQueue } from "../../core/state/priority-queue.ts";
import type { Run } from "../../core/state/run.ts";
import { engineKeyOf, inOrder } from "../../core/state/work-queue.ts";

/** Runs that wait at the same place for the same thing; facts about the first apply to all. */
export interface Line {
  first: Run;
  count: number;
  /** Since when the first run waits, and the earliest time that a run waits for. */
  sinceUs: number;
  dueUs: number | null;
}

export interface Survey {
  waiting: number;
  lines: Line[];
  /** The first runs overall, in the order of hand-out. */
  front: Run[];
}

export function surveyQueue(state: LiveState, frontMax: number): Survey {
  const byPlace = new Map<Run["place"], Map<string | null, Line>>();
  // The last of the kept runs is on top of the heap.
  const front = new PriorityQueue<Run>((a, b) => inOrder(a, b) > 0);
  let waiting = 0;
  for (const run of state.runs.values()) {
    if (run.place === "none") continue;
    waiting += 1;
    countIn(byPlace, run);
    const last = front.size < frontMax ? undefined : front.peek();
    if (last !== undefined && inOrder(run, last) > 0) continue;
    if (last !== undefined) front.pop();
    front.push(run);
  }
  const lines = [...byPlace.values()].flatMap((byName) => [...byName.values()]);
  return { waiting, lines, front: [...front.items()].sort(inOrder) };
}

function countIn(byPlace: Map<Run["place"], Map<string | null, Line>>, run: Run): void {
  let byName = byPlace.get(run.place);
  if (byName === undefined) {
    byName = new Map();
    byPlace.set(run.place, byName);
  }
  const name = lineOf(run);
  const sinceUs = run.waiting?.sinceUs ?? run.state.timestamp;
  const line = byName.get(name);
  if (line === undefined) {
    byName.set(name, { first: run, count: 1, sinceUs, dueUs: run.scheduled_time });
    return;
  }
  line.count += 1;
  if (sinceUs < line.sinceUs) line.sinceUs = sinceUs;
  if (run.scheduled_time !== null && (line.dueUs === null || run.scheduled_time < line.dueUs)) line.dueUs = run.scheduled_time;
}

/** What a run waits for at its place: its engine key, the resource or the backfill; before its time, the name of its state. */
export function lineOf(run: Run): string | null {
  const { waiting } = run;
  if (run.place === "future") return run.state.name;
  if (run.place !== "ready") return waiting?.object ?? null;
  return waiting?.code === "no_engine" ? waiting.object : engineKeyOf(run).text;
}

/** Runs that may be handed out now compete for an engine or a resource. */
function competes({ place }: Run): boolean {
  return place === "ready" || place === "blocked" || place === "behind";
}

/** The position in line of each of the first runs, in their order; runs that do not compete have none. */
export function positionsOf(front: readonly Run[]): Map<Run, number> {
  const counted = new Map<string, number>();
  const positions = new Map<Run, number>();
  for (const run of front) {
    if (!competes(run)) continue;
    const line = `${run.place === "ready" ? "engine" : "resource"} ${lineOf(run)}`;
    const position = (counted.get(line) ?? 0) + 1;
    counted.set(line, position);
    positions.set(run, position);
  }
  return positions;
}

/** The position of one run in its line, or null. */
export function positionOf(state: LiveState, run: Run): number | null {
  if (!competes(run)) return null;
  const line = lineOf(run);
  const needsEngine = run.place === "ready";
  let position = 1;
  for (const other of state.runs.values()) {
    if (!competes(other) || (other.place === "ready") !== needsEngine || lineOf(other) !== line) continue;
    if (inOrder(other, run) < 0) position += 1;
  }
  return position;
}
