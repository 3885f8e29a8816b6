/** Currently running runs, the longest first. */
import type { JSX } from "preact";
import type { Run } from "#protocol/records/run";
import { DurationBar } from "../../records/run-parts.tsx";
import { ProgressOfRun } from "../../records/run-progress.tsx";
import { useTypical } from "../../records/typical.ts";
import { lookOf } from "../../state/look.ts";
import { StateGlyph } from "../../state/state-mark.tsx";

export function RunningNow({ runs }: { runs: readonly Run[] }): JSX.Element {
  const typical = useTypical();
  if (runs.length === 0) return <p class="calm dim">Nothing runs.</p>;
  return (
    <>
      <ul class="rows running-now">
        {runs.map((run) => (
          <li key={run.id}>
            <div>
              <a class="cut name" href={`/runs/${run.id}`} title={run.flow_name}>
                {run.flow_name}
              </a>
              <span class="row meta faint">
                <StateGlyph look={lookOf(run.state)} size={12} /> {run.project}
                {run.state.name !== "Running" && `, ${lookOf(run.state).word}`}
              </span>
              <ProgressOfRun id={run.id} />
            </div>
            <DurationBar run={run} typical={typical.value.get(run.flow_id) ?? null} />
          </li>
        ))}
      </ul>
      {runs.some(({ flow_id }) => typical.value.has(flow_id)) && <p class="hint">The tick marks the typical duration.</p>}
    </>
  );
}
