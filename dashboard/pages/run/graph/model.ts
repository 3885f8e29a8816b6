/**
 * What the graph of a run draws: a box per task while they can be read, else a box per task name. Never more boxes than the
 * bound, whatever the run has.
 */
import type { TaskRun } from "#protocol/task-run";
import { lookOf, type StateLook } from "../../../state/look.ts";
import { groupTasks } from "../task-groups.ts";

/** Boxes that are drawn at most; the layout of more takes a second and nobody reads it. */
export const NODES_MAX = 500;

export interface GraphBox {
  id: string;
  name: string;
  /** How many task runs it stands for. */
  tasks: number;
  /** Its worst state. */
  look: StateLook;
  /** State name and how many, in the order of the states. */
  states: readonly (readonly [string, number])[];
  /** What its tasks are called, for a link to them. */
  taskName: string;
}

export interface GraphModel {
  /** "tasks": a box per task. "names": a box per name. "none": even the names are too many. */
  by: "tasks" | "names" | "none";
  boxes: readonly GraphBox[];
  edges: readonly (readonly [from: string, to: string])[];
}

export function graphOf(tasks: readonly TaskRun[]): GraphModel {
  if (tasks.length <= NODES_MAX) return { by: "tasks", boxes: tasks.map(taskBox), edges: edgesBy(tasks, ({ id }) => String(id)) };
  const groups = groupTasks(tasks);
  if (groups.length > NODES_MAX) return { by: "none", boxes: [], edges: [] };
  const boxes = groups.map(({ name, total, states }): GraphBox => {
    const worst = states[0]?.[0] ?? "";
    return { id: name, name, tasks: total, look: lookOf({ type: "Completed", name: worst }), states, taskName: name };
  });
  return { by: "names", boxes, edges: edgesBy(tasks, ({ name }) => name) };
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
