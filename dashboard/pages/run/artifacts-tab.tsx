/** The artifacts of a run, each in the view of its kind. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ArtifactRow } from "#protocol/records/artifact";
import { useQuery } from "../../api/query.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { ArtifactView } from "../../records/artifact-view.tsx";
import type { TabProps } from "./run-page.tsx";

/** Artifacts may be large: this many at first, and as many more on each request. */
const FIRST_COUNT = 20;

export function Tab({ run }: TabProps): JSX.Element {
  const [wanted, setWanted] = useState(FIRST_COUNT);
  const query = useQuery<ArtifactRow[]>(`/api/runs/${run.id}/artifacts?limit=${wanted + 1}`, {
    run: run.id,
    live: { "artifact.updated": true },
  });
  if (query.error !== null && query.data === null)
    return <Failure what="The list of artifacts" error={query.error} again={query.refresh} />;
  if (query.data === null) return <Loading />;
  if (query.data.length === 0)
    return (
      <Empty title="No artifacts" command={'artifact.markdown("report", "# What came of it")'}>
        A flow publishes text, tables, progress, links and pictures for people to look at.
      </Empty>
    );
  return (
    <div class="stack">
      {query.data.slice(0, wanted).map((artifact) => (
        <ArtifactView key={artifact.id} artifact={artifact} />
      ))}
      {query.data.length > wanted && (
        <button type="button" class="button" onClick={() => setWanted(wanted + FIRST_COUNT)}>
          Show more
        </button>
      )}
    </div>
  );
}
