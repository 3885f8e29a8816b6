/** Tasks by name, with the number per state, failed ones first. */
import type { TaskRun } from "#protocol/records/task-run";
import { STATE_ORDER } from "../../state/look.ts";

export interface TaskGroup {
  name: string;
  total: number;
  failed: number;
  /** State names with counts, in the order of the states. */
  states: readonly (readonly [string, number])[];
}

export function wentWrong({ state }: TaskRun): boolean {
  return state.type === "Failed" || state.type === "Crashed";
}

const ORDER = new Map<string, number>(STATE_ORDER.map((name, index) => [name, index]));

export function groupTasks(tasks: readonly TaskRun[]): TaskGroup[] {
  const groups = new Map<string, { total: number; failed: number; states: Map<string, number> }>();
  for (const task of tasks) {
    const group = groups.get(task.name) ?? { total: 0, failed: 0, states: new Map() };
    groups.set(task.name, group);
    group.total += 1;
    if (wentWrong(task)) group.failed += 1;
    group.states.set(task.state.name, (group.states.get(task.state.name) ?? 0) + 1);
  }
  return [...groups]
    .map(([name, { total, failed, states }]) => ({
      ...{ name, total, failed },
      states: [...states].sort(([a], [b]) => (ORDER.get(a) ?? 99) - (ORDER.get(b) ?? 99)),
    }))
    .sort((a, b) => b.failed - a.failed || b.total - a.total || (a.name < b.name ? -1 : 1));
}
