/**
 * GET /api/stats: ended runs and task runs per hour, by flow and by task name, with typical durations; from counts, never
 * from runs.
 */
import { stateType } from "../schema/codes.ts";
import { quantile } from "../schema/duration-class.ts";
import type { Statements } from "../sqlite/statements.ts";
import { HOUR_US, QUARTER_US } from "../write/ended-counts.ts";

type Row = [hour: number, flow_id: number, task_name: string, state: number, duration_class: number, count: number];

/** Task names listed, the most frequent first. */
const TASKS_MAX = 200;

/** Counts of one task name of a flow. */
interface TaskTally {
  flow: number;
  task: string;
  own: Tally;
}

class Tally {
  readonly states: Record<string, number> = {};
  readonly durations = new Map<number, number>();
  total = 0;

  add(state: number, group: number, count: number): void {
    const type = stateType(state);
    this.states[type] = (this.states[type] ?? 0) + count;
    this.total += count;
    // Only completed work has a typical duration.
    if (type === "Completed") this.durations.set(group, (this.durations.get(group) ?? 0) + count);
  }

  typical() {
    return { duration_p50: quantile(this.durations, 0.5), duration_p95: quantile(this.durations, 0.95) };
  }
}

/** Statistics of the last `hours` hours as JSON text; the current hour is the last bucket. */
export function stats(statements: Statements, hours: number, nowUs: number): string {
  const last = Math.floor(nowUs / HOUR_US);
  const first = last - hours + 1;
  const sql = `SELECT hour, flow_id, task_name, state_type, duration_class, count FROM ended_counts
    WHERE hour BETWEEN ? AND ? AND count > 0`;
  const buckets = new Map<number, Tally>();
  const flows = new Map<number, Tally>();
  const tasks = new Map<string, TaskTally>();
  for (const [hour, flow, task, state, group, count] of statements.raw<Row>(sql).all(first, last)) {
    if (task !== "") taskTally(tasks, flow, task).add(state, group, count);
    else {
      tally(buckets, hour).add(state, group, count);
      tally(flows, flow).add(state, group, count);
    }
  }
  const names = new Map(
    statements
      .raw<[number, string, string]>("SELECT id, project, name FROM flows")
      .all()
      .map(([id, project, name]) => [id, { project, flow: name }]),
  );
  const known = [...flows].flatMap(([id, own]) => {
    const name = names.get(id);
    return name === undefined ? [] : [{ flow_id: id, ...name, states: own.states, ...own.typical() }];
  });
  const listed = [...tasks.values()]
    .sort((a, b) => b.own.total - a.own.total)
    .slice(0, TASKS_MAX)
    .flatMap(({ flow, task, own }) => {
      const name = names.get(flow);
      return name === undefined ? [] : [{ flow_id: flow, ...name, task, states: own.states, ...own.typical() }];
    });
  const hourly = Array.from({ length: hours }, (_, index) => ({
    time: (first + index) * HOUR_US,
    states: buckets.get(first + index)?.states ?? {},
  }));
  const quarters = quarterly(statements, hours, nowUs);
  return JSON.stringify({ bucket_secs: HOUR_US / 1e6, buckets: hourly, quarters, flows: known, tasks: listed });
}

/** Ended runs by quarter of an hour (empty quarters left out) and state name. */
function quarterly(statements: Statements, hours: number, nowUs: number) {
  const last = Math.floor(nowUs / QUARTER_US);
  const sql = "SELECT quarter, state_name, count FROM ended_quarters WHERE quarter BETWEEN ? AND ? AND count > 0";
  const buckets = new Map<number, Record<string, number>>();
  for (const [quarter, name, count] of statements.raw<[number, string, number]>(sql).all(last - 4 * hours + 1, last))
    buckets.set(quarter, { ...buckets.get(quarter), [name]: count });
  return [...buckets].map(([quarter, states]) => ({ time: quarter * QUARTER_US, states }));
}

function taskTally(tallies: Map<string, TaskTally>, flow: number, task: string): Tally {
  const key = `${flow} ${task}`;
  const known = tallies.get(key) ?? { flow, task, own: new Tally() };
  tallies.set(key, known);
  return known.own;
}

function tally<K>(tallies: Map<K, Tally>, key: K): Tally {
  const known = tallies.get(key) ?? new Tally();
  tallies.set(key, known);
  return known;
}
