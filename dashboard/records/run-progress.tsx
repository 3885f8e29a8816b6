/** The progress of a run, as its flow or its tasks report it with progress(). Nothing for runs without reports. */
import type { JSX } from "preact";
import type { ArtifactsPage } from "#protocol/records/artifact";
import { progressOf, progressText, type RunProgress } from "#protocol/records/run-progress";
import { withQuery } from "../api/client.ts";
import { useQuery } from "../api/query.ts";

/** A run has one for the flow and one for each task that calls progress(). */
const READ_MAX = 500;

export function useProgress(runId: number): RunProgress | null {
  const query = useQuery<ArtifactsPage>(withQuery("/api/artifacts", { run_id: runId, kind: "progress", limit: READ_MAX }), {
    run: runId,
    live: { "artifact.updated": ({ kind }) => kind === "progress" },
  });
  return query.data === null ? null : progressOf(query.data.items);
}

/** A bar and "40 %, reading". */
export function ProgressOfRun({ id }: { id: number }): JSX.Element | null {
  const progress = useProgress(id);
  if (progress === null) return null;
  return (
    <span class="row run-progress">
      <progress max={100} value={progress.value} aria-label="Progress" />
      <span class="num cut dim">{progressText(progress)}</span>
    </span>
  );
}
