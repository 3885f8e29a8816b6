/** One artifact in the view of its kind, its origin, and the other artifacts of its key. */
import type { JSX } from "preact";
import type { ArtifactListItem } from "#protocol/records/artifact";
import { fullTime } from "../../format/time.ts";
import { Facts } from "../../parts/layout.tsx";
import { ArtifactData, titleOf } from "../../records/artifact-view.tsx";
import { param, withParams } from "../../router/router.ts";

export function ArtifactPanel({ artifact }: { artifact: ArtifactListItem }): JSX.Element {
  const { id, kind, key, data, run_id, run_name, flow_name, project, created_at, updated_at } = artifact;
  const history = key !== null && key !== undefined && param("key") !== key;
  return (
    <aside class="artifact-panel" aria-label="The chosen artifact">
      <div class="head">
        <h2>{titleOf(artifact)}</h2>
        <div class="push row">
          {history && (
            <a class="button small" href={withParams({ key, artifact: String(id) })}>
              History of {key}
            </a>
          )}
          <a class="button small quiet" href={withParams({ artifact: null })}>
            Close
          </a>
        </div>
      </div>
      <Facts
        facts={[
          ["Run", <a href={`/runs/${run_id}?tab=artifacts`}>{run_name}</a>],
          ["Flow", `${project} / ${flow_name}`],
          ["Published", fullTime(created_at)],
          updated_at === created_at ? null : ["Updated", fullTime(updated_at)],
        ]}
      />
      <div class="artifact">
        <ArtifactData kind={kind} data={data} />
      </div>
    </aside>
  );
}
