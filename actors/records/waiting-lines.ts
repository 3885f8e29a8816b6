/**
 * The lines in which runs wait: for engines of one kind, for the same resource, for their time, for something to be decided. A
 * hundred thousand runs may wait and people look often, so everything here is one pass over them and sorts only what is listed.
 */
import { PriorityQueue } from "../dispatcher/priority-queue.ts";
import { inOrder, keyOfRun } from "../dispatcher/queue.ts";
import type { LiveState } from "../live-state/live-state.ts";
import type { Run } from "../live-state/run.ts";

/** Runs that wait at the same place for the same thing; what is said of the first is true for all. */
export interface Line {
  first: Run;
  count: number;
  /** Since when the first of them waits, and the first time that one of them waits for. */
  sinceUs: number;
  dueUs: number | null;
}

export interface Survey {
  waiting: number;
  lines: Line[];
  /** The first of all in the order of hand-out. */
  front: Run[];
}

export function surveyQueue(state: LiveState, frontMax: number): Survey {
  const byPlace = new Map<Run["place"], Map<string | null, Line>>();
  // The last of those that are kept is on top.
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

/** What a run waits for at its place: engines of its kind, the resource or the backfill, or, before its time, under which name. */
export function lineOf(run: Run): string | null {
  const { waiting } = run;
  if (run.place === "future") return run.state.name;
  if (run.place !== "ready") return waiting?.object ?? null;
  return waiting?.code === "no_engine" ? waiting.object : keyOfRun(run);
}

/** Runs that may be handed out now compete with each other: for an engine, or for a resource. */
function competes({ place }: Run): boolean {
  return place === "ready" || place === "blocked" || place === "behind";
}

/** The place in line of each of the first runs, in their order; those that do not compete have none. */
export function placesOf(front: readonly Run[]): Map<Run, number> {
  const counted = new Map<string, number>();
  const places = new Map<Run, number>();
  for (const run of front) {
    if (!competes(run)) continue;
    const line = `${run.place === "ready" ? "engine" : "resource"} ${lineOf(run)}`;
    const place = (counted.get(line) ?? 0) + 1;
    counted.set(line, place);
    places.set(run, place);
  }
  return places;
}

/** The place of one run in its line; null when it is in none. */
export function placeOf(state: LiveState, run: Run): number | null {
  if (!competes(run)) return null;
  const line = lineOf(run);
  const needsEngine = run.place === "ready";
  let place = 1;
  for (const other of state.runs.values()) {
    if (!competes(other) || (other.place === "ready") !== needsEngine || lineOf(other) !== line) continue;
    if (inOrder(other, run) < 0) place += 1;
  }
  return place;
}
