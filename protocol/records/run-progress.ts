/**
 * Progress of a run as drawn by `progress()`, whose artifact has neither a title nor a key, unlike artifacts with a value of
 * their own.
 */
import type { ArtifactRow } from "./artifact.ts";

type Bar = Pick<ArtifactRow, "kind" | "key" | "data" | "task_run_id" | "updated_at">;

export interface RunProgress {
  /** 0 to 100. */
  value: number;
  label: string;
}

/** The flow's own progress, else the latest progress of one of its tasks, else null. */
export function progressOf(artifacts: Iterable<Bar>): RunProgress | null {
  let said: Bar | null = null;
  for (const artifact of artifacts) if (isProgress(artifact) && (said === null || counts(artifact, said))) said = artifact;
  if (said === null) return null;
  const { value, label } = said.data;
  return { value: Math.max(0, Math.min(100, Number(value) || 0)), label: typeof label === "string" ? label : "" };
}

export function isProgress({ kind, key, data }: Pick<Bar, "kind" | "key" | "data">): boolean {
  return kind === "progress" && key == null && data["title"] === undefined;
}

function counts(artifact: Bar, other: Bar): boolean {
  const ofTask = artifact.task_run_id != null;
  if (ofTask !== (other.task_run_id != null)) return !ofTask;
  return artifact.updated_at >= other.updated_at;
}

/** "40 %", or "40 %, reading". Rounded down, so that unfinished work never shows 100 %. */
export function progressText({ value, label }: RunProgress): string {
  return `${Math.floor(value)} %${label === "" ? "" : `, ${label}`}`;
}
