/** Event `step` of a report: the result of a task of a durable run, stored with the report. */
import type { StepReport } from "#protocol/records/durable";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { lineageOf } from "./lineages.ts";

/** Stores the result unless the lineage has one of that identity; false for a run that is not durable. */
export function storeStep(turn: Turn, run: Run, step: StepReport): boolean {
  const lineage = lineageOf(turn.state, run);
  if (lineage === null || !run.flow.options.durable) return false;
  const task = step.task_run_external_id == null ? undefined : run.tasks.get(step.task_run_external_id);
  const { identity, place, name, value = null, file = null } = step;
  lineage.hasSteps = true;
  turn.rows.put("insert_step", {
    lineage_id: lineage.id,
    identity,
    place,
    name,
    run_id: run.id,
    task_run_id: task?.id ?? null,
    value,
    file: file?.sha256 ?? null,
    bytes: file?.bytes ?? Buffer.byteLength(value ?? ""),
    created_at: turn.nowUs,
  });
  return true;
}
