/** The lists of a large store whose times are compared: each sort and filter, single records and counts. */
import { RUN_SORTS } from "#protocol/records/run";
import { type QueryArguments, type QueryName, runQuery } from "#storage/queries/named";
import type { Statements } from "#storage/sqlite/statements";

/** What a store was filled with. */
export interface FilledStore {
  runs: number;
  /** The creation of the first run; the others follow a millisecond apart. */
  startUs: number;
  /** External id of a run. */
  uuidOf(run: number): string;
}

export interface ListCall {
  label: string;
  call: (statements: Statements, index: number) => string | null;
}

export function listCalls({ runs: count, startUs, uuidOf }: FilledStore): ListCall[] {
  const calls: ListCall[] = [];
  const run = <N extends QueryName>(label: string, name: N, args: (index: number) => QueryArguments[N]) =>
    calls.push({ label, call: (statements, index) => runQuery(statements, name, args(index)) });
  const runs = (label: string, query: Partial<QueryArguments["runs"]["query"]>) =>
    run(`runs ${label}`, "runs", () => ({ query: { sort: "created_desc", limit: 50, ...query } }));
  const random = (index: number) => 1 + ((Math.abs(index) * 7_919_777) % count);
  for (const sort of RUN_SORTS) runs(sort, { sort });
  for (const sort of RUN_SORTS) runs(`${sort}, one flow`, { sort, flow_id: 7 });
  for (const sort of RUN_SORTS) runs(`${sort}, failed of one flow`, { sort, flow_id: 19, state_type: "Failed" });
  runs("of a project", { project: "p1" });
  runs("failed", { state_type: "Failed" });
  runs("completed", { state_type: "Completed" });
  runs("running", { state_type: "Running" });
  runs("late", { state_name: "Late" });
  runs("of an unknown tag", { tags: ["none"] });
  runs("name has 4711", { name: "4711" });
  runs("search of no run", { sort: "activity", search: "nowhere" });
  runs("search of a flow", { sort: "activity", search: "flow-7" });
  runs("search of no run, failed", { sort: "activity", search: "nowhere", states: ["Failed"] });
  run("counts of a search", "run_counts", () => ({ query: { search: "nowhere" } }));
  run("counts of a search, one flow", "run_counts", () => ({ query: { search: "nowhere", flow_id: 7 } }));
  runs("started in an old window", { start_after: startUs + 1_000_000, start_before: startUs + 3_000_000 });
  runs("started before", { start_before: startUs + 100_000_000 });
  runs("by duration, started in an old window", {
    sort: "duration_desc",
    start_after: startUs,
    start_before: startUs + 3_000_000,
  });
  run("runs random cursor", "runs", (index) => ({
    query: { sort: "created_desc", limit: 50, cursor: random(index) },
  }));
  run("run by id", "run", (index) => ({ id: random(index) }));
  run("run logs", "run_logs", (index) => ({ id: random(index), query: { limit: 1_000 } }));
  run("run tasks", "run_tasks", (index) => ({ id: random(index) }));
  run("flow summaries", "flow_summaries", () => ({ project: null, live: [], now_us: 1 }));
  run("counts", "counts", () => ({ project: null }));
  const tasks = (label: string, query: Partial<QueryArguments["task_runs"]["query"]>) =>
    run(`task runs ${label}`, "task_runs", () => ({ query: { limit: 50, ...query } }));
  tasks("newest", {});
  tasks("of a flow", { flow: "flow-7" });
  tasks("of a project", { project: "p1" });
  tasks("failed", { state_type: "Failed" });
  tasks("completed of a flow", { flow: "flow-7", state_type: "Completed" });
  tasks("running", { state_type: "Running" });
  const events = (label: string, query: Partial<QueryArguments["events"]["query"]>) =>
    run(`events ${label}`, "events", () => ({ query: { limit: 50, ascending: false, ...query } }));
  events("newest", {});
  events("by name", { name: "run.completed" });
  events("by prefix", { name: "task_run.*" });
  events("of a flow", { flow_id: 7 });
  events("of a flow by name", { flow_id: 7, name: "run.completed" });
  events("in an old window", { after: startUs + 1_000_000, before: startUs + 3_000_000 });
  events("of a run", { run_id: 4_711 });
  events("of a resource", { resource_id: uuidOf(4_711) });
  events("of rules", { resource_kind: "rule" });
  return calls;
}
