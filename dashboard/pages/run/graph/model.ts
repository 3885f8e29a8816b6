/**
 * The boxes of a run's graph: one per task while they are readable, else one per task name, and never more than the bound; then
 * one per run that the run has called.
 */
import type { TaskRun } from "#protocol/records/task-run";
import { lookOf, type StateLook } from "../../../state/look.ts";
import { groupTasks } from "../task-groups.ts";

/** Most boxes that are drawn; the layout of more takes a second and is unreadable. */
export const NODES_MAX = 500;

export interface GraphBox {
  id: string;
  name: string;
  /** Number of task runs in this box. */
  tasks: number;
  /** The worst state of its task runs. */
  look: StateLook;
  /** State names with counts, in the order of the states. */
  states: readonly (readonly [string, number])[];
  /** The name of its tasks, for a link to them. */
  taskName: string;
}

/** Most called runs that are drawn: each is read by itself. */
export const CALLED_MAX = 100;

export interface GraphModel {
  /** "tasks": a box per task. "names": a box per name. "none": even the names are too many. */
  by: "tasks" | "names" | "none";
  boxes: readonly GraphBox[];
  edges: readonly (readonly [from: string, to: string])[];
  /** Called runs, by their ids; their boxes have no lines. */
  called: readonly number[];
}

/** The id of the box of a called run. */
export function calledBox(run: number): string {
  return `run ${run}`;
}

export function graphOf(tasks: readonly TaskRun[], calledRuns: readonly number[] = []): GraphModel {
  const called = calledRuns.slice(0, CALLED_MAX);
  if (tasks.length <= NODES_MAX)
    return { by: "tasks", boxes: tasks.map(taskBox), edges: edgesBy(tasks, ({ id }) => String(id)), called };
  const groups = groupTasks(tasks);
  if (groups.length > NODES_MAX) return { by: "none", boxes: [], edges: [], called: [] };
  const boxes = groups.map(({ name, total, states }): GraphBox => {
    const worst = states[0]?.[0] ?? "";
    return { id: name, name, tasks: total, look: lookOf({ type: "Completed", name: worst }), states, taskName: name };
  });
  return { by: "names", boxes, edges: edgesBy(tasks, ({ name }) => name), called };
}

function taskBox({ id, name, dynamic_key, state }: TaskRun): GraphBox {
  const look = lookOf(state);
  return { id: String(id), name: dynamic_key || name, tasks: 1, look, states: [[state.name, 1]], taskName: name };
}

/** Which box waited on which, each pair once. */
function edgesBy(tasks: readonly TaskRun[], boxOf: (task: TaskRun) => string): [string, string][] {
  const byExternal = new Map(tasks.map((task) => [task.external_id, boxOf(task)]));
  const edges = new Map<string, [string, string]>();
  for (const task of tasks) {
    const to = boxOf(task);
    for (const parent of task.parents ?? []) {
      const from = byExternal.get(parent);
      if (from !== undefined && from !== to) edges.set(`${from}\n${to}`, [from, to]);
    }
  }
  return [...edges.values()];
}
