/** A retry by a person forks a lineage: the new one sees what its origin had, all of it or what is older than a task run. */
import { type Refusal, refuse } from "#protocol/errors";
import type { ForkOrigin, Lineage } from "../../core/state/durable.ts";
import type { Run } from "../../core/state/run.ts";
import type { TaskRun } from "../../core/state/task-run.ts";
import type { Turn } from "../../core/turn.ts";

/** What a retry goes on with: null for nothing, when the run begins from its start. */
export function originOfRetry(turn: Turn, ended: Run, asked: string | null): ForkOrigin | null | Refusal {
  const id = ended.flow.options.durable ? (ended.durable?.lineageId ?? null) : null;
  const from = asked ?? (id !== null && ended.state.type !== "Completed" ? "failure" : "start");
  if (from === "start") return null;
  if (id === null) return refuse("no_results", ended.id);
  // The lineage may go on, in a crash rerun: what that one does later is not of the new lineage.
  if (from === "failure") return { id, beforeTask: turn.state.nextIds.task_run, beforeTime: turn.nowUs + 1 };
  const task = [...turn.state.taskRunsOf(ended).values()].find(({ dynamic_key }) => dynamic_key === from);
  if (task === undefined) return refuse("no_task", ended.id, from);
  const worker = workerOf(turn, task);
  return { id, beforeTask: worker.id, beforeTime: worker.created_at };
}

/** The task run that did the work: of a task run that found its result, the one that stored it. */
function workerOf(turn: Turn, task: TaskRun): TaskRun {
  const step = task.state?.name === "Cached" ? (task.state.details["step"] as Partial<StepReference> | null | undefined) : null;
  if (typeof step?.run_id !== "number" || typeof step.task_run !== "string") return task;
  const worker = turn.state.findRun(step.run_id);
  return (worker === undefined ? undefined : turn.state.taskRunsOf(worker).get(step.task_run)) ?? task;
}

/** In the details of a task run that found its result. */
interface StepReference {
  run_id: number;
  task_run: string;
}

/** The lineage of the run that is created next. */
export function forkLineage(turn: Turn, origin: ForkOrigin): Lineage {
  const id = turn.state.nextIds.run;
  const { beforeTask: before_task, beforeTime: before_time } = origin;
  const called = { depth: 0, caller_wait: null, on_parent_end: null };
  turn.rows.put("put_lineage", { id, origin_id: origin.id, before_task, before_time, ...called });
  return turn.state.durable.begin(id, { origin, hasSteps: true, hasWaits: true });
}
